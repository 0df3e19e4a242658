//! Cost of an allocation of Plum: the barrier method of the three concave QoE functions, and the convex square.

use airbound_senders::conference::{Problem, Qoe, User};
use airbound_units::BitRate;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Capacities from 5 to 60 Mb/s, well mixed.
fn problem(users: u64, qoe: Qoe) -> Problem {
    let capacity = |index: u64| BitRate::from_kbps(5_000 + index * 7_919 % 55_000);
    Problem {
        users: (0..users)
            .map(|index| User { capacity: capacity(index), weight: 1.0, least_down: BitRate::ZERO })
            .collect(),
        qoe,
        rho: 0.5,
        max_bitrate: BitRate::from_mbps(30),
        source_cap: BitRate::from_kbps(30_000 / users.min(25)),
        least_up: BitRate::from_mbps(1),
        least_down: BitRate::ZERO,
    }
}

fn allocations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plum-allocation");
    group.sample_size(20);
    for qoe in Qoe::ALL {
        for users in [20, 200, 1000] {
            // The convex square is inherently slow; 200 users show it.
            if qoe.is_concave() || users <= 200 {
                let problem = problem(users, qoe);
                group.bench_function(BenchmarkId::new(qoe.name(), users), |bench| {
                    bench.iter(|| problem.solve())
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, allocations);
criterion_main!(benches);
