//! The saturation model compared with the `bianchi_*` columns of shared/ns3/reference/dcf_sat-apt.csv, which are of an
//! independent program, and with ns-3.

use airbound_units::ByteCount;
use airbound_wifi::bianchi::{Contention, Saturation, SlotTimes, saturation};
use airbound_wifi::{EdcaParameters, Legacy, Rate};

struct Row {
    data: Legacy,
    acknowledgement: Legacy,
    stations: u32,
    /// Mbit/s without a retry limit, its p, with 7 attempts, its p, with 7 attempts and EIFS.
    model: [f64; 5],
    /// Mbit/s and collision probability in ns-3.
    measured: [f64; 2],
}

const fn row(fast: bool, stations: u32, model: [f64; 5], measured: [f64; 2]) -> Row {
    let (data, acknowledgement) =
        if fast { (Legacy::Mbps54, Legacy::Mbps24) } else { (Legacy::Mbps6, Legacy::Mbps6) };
    Row { data, acknowledgement, stations, model, measured }
}

const ROWS: [Row; 8] = [
    row(
        true,
        1,
        [29.885_641_677_255_393, 0.0, 29.885_641_677_255_393, 0.0, 29.885_641_677_255_393],
        [29.866_872, 0.0],
    ),
    row(
        true,
        5,
        [
            29.524_133_685_950_392,
            0.271_536_297_611_688,
            29.517_338_013_325_773,
            0.272_154_994_383_148_6,
            28.740_208_184_918_714,
        ],
        [28.843_752, 0.260_834_187],
    ),
    row(
        true,
        10,
        [
            27.736_355_952_044_075,
            0.384_403_833_301_086,
            27.650_952_144_115_69,
            0.389_227_211_756_871_6,
            26.544_526_272_974_29,
        ],
        [27.401_976, 0.361_423_991],
    ),
    row(
        true,
        50,
        [
            22.931_866_548_668_43,
            0.595_266_660_857_956,
            21.788_684_172_850_71,
            0.634_291_436_188_791,
            20.159_160_174_943_658,
        ],
        [22.570_968, 0.590_828_661],
    ),
    row(
        false,
        1,
        [5.265_278_710_543_988, 0.0, 5.265_278_710_543_988, 0.0, 5.265_278_710_543_988],
        [5.266_128, 0.0],
    ),
    row(
        false,
        5,
        [
            4.585_100_740_824_886,
            0.271_536_297_611_688,
            4.583_174_761_634_84,
            0.272_154_994_383_148_6,
            4.564_012_809_421_254,
        ],
        [4.613_448, 0.255_738_949],
    ),
    row(
        false,
        10,
        [
            4.210_960_815_876_423,
            0.384_403_833_301_086,
            4.193_688_219_174_737,
            0.389_227_211_756_871_6,
            4.167_343_553_171_237_5,
        ],
        [4.258_296, 0.366_847_351],
    ),
    row(
        false,
        50,
        [
            3.361_225_300_129_413,
            0.595_266_660_857_956,
            3.173_216_428_877_029,
            0.634_291_436_188_791,
            3.136_295_384_750_129,
        ],
        [3.388_056, 0.592_157_418],
    ),
];

fn solve(row: &Row, max_attempts: Option<u32>, eifs: bool) -> Saturation {
    let times =
        SlotTimes::basic_access(Rate::legacy(row.data), ByteCount::new(1_534), row.acknowledgement, eifs);
    let contention = Contention { stations: row.stations, windows: EdcaParameters::dcf(), max_attempts };
    saturation(&contention, &times, ByteCount::new(1_470))
}

#[test]
fn the_model_agrees_with_the_reference() {
    for row in &ROWS {
        let endless = solve(row, None, false);
        let limited = solve(row, Some(7), false);
        let careful = solve(row, Some(7), true);
        let ours = [
            endless.goodput.as_mbps_f64(),
            endless.point.collision,
            limited.goodput.as_mbps_f64(),
            limited.point.collision,
            careful.goodput.as_mbps_f64(),
        ];
        for (ours, reference) in ours.into_iter().zip(row.model) {
            // Goodput is whole bits per second.
            assert!((ours - reference).abs() <= 1e-6, "n = {}: {ours} {reference}", row.stations);
        }
    }
}

#[test]
fn ns3_agrees_with_the_model() {
    for row in ROWS.iter().filter(|row| row.stations <= 10) {
        let [goodput, collision] = row.measured;
        let model = solve(row, Some(7), false);
        assert!((model.goodput.as_mbps_f64() / goodput - 1.0).abs() < 0.025);
        assert!((model.point.collision - collision).abs() < 0.03);
    }
}

#[test]
fn collisions_grow_with_stations() {
    let mut before = -1.0;
    for stations in 1..=60 {
        let point = Contention { stations, windows: EdcaParameters::dcf(), max_attempts: Some(7) }.solve();
        let expected = 1.0 - (1.0 - point.attempt).powi(stations as i32 - 1);
        assert!((point.collision - expected).abs() < 1e-9);
        assert!(point.collision > before);
        before = point.collision;
    }
}
