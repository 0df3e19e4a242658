//! The packets of a run that took longest, or longer than they may.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use airbound_control::queue::Demand;
use airbound_record::{Fate, HopRow, PacketRow, RunFolder, Split, TableReader, find_hops};
use airbound_scenario::{
    Access, ChannelSpec, DemandSchedule, Network, Overrides, Scenario, Station, TraceUse,
};
use airbound_units::{Instant, Span};

use crate::error::RunsError;

const PACKETS: &str = "packets.parquet";
const HOPS: &str = "hops.parquet";

/// A delivered packet and its way.
#[derive(Debug, Clone)]
pub struct DeliveredPacket {
    /// Its row.
    pub row: PacketRow,
    /// Its hops before the last one.
    pub hops: Vec<HopRow>,
    /// Time in each stage.
    pub split: Split,
}

/// The late packets of one flow.
#[derive(Debug, Clone)]
pub struct LateFlow {
    /// Number of the flow.
    pub flow: u32,
    /// Packets that were delivered or dropped.
    pub packets: u64,
    /// Packets that were dropped.
    pub lost: u64,
    /// The late ones, in the order of the file.
    pub late: Vec<DeliveredPacket>,
}

/// Limit beyond which a packet is late.
#[derive(Debug, Clone, Copy)]
pub enum Late {
    /// The demand of its flow when it was acknowledged, compared with its time in the Wi-Fi transmitter until then.
    Demand,
    /// A latency, compared with its time from its source to its destination.
    Latency(Span),
}

/// The links of a run beside the air.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Propagation delay of the wire of each flow of the scenario, by name.
    pub wire_delays: BTreeMap<String, Span>,
    /// Stations, and clients of a session, behind a pipe in place of the air.
    pub piped: Vec<String>,
    /// Clients of a session that have no station: their access links are their own.
    pub apart: Vec<String>,
    /// Whether there is a session, whose rows of packets are those of one access link.
    pub has_session: bool,
    /// The channel of each transmitter of several networks, by name; empty of one network.
    pub channels: BTreeMap<String, u16>,
}

/// The links of a run.
///
/// # Errors
/// The scenario of the run cannot be read.
pub fn links(folder: &RunFolder) -> Result<Links, RunsError> {
    let scenario = Scenario::parse(&folder.scenario()?, "scenario.toml", &Overrides::none())?;
    let clients = scenario.session.iter().flat_map(|session| &session.clients);
    let apart = clients.filter(|client| !matches!(client.access, Access::Station(_)));
    let apart: Vec<String> = apart.map(|client| client.name.clone()).collect();
    let is_pipe = |station: &&Station| matches!(&station.channel, ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe);
    let of_network = |network: &Network| {
        let is_home = |station: &&Station| station.network.as_ref() == Some(&network.name);
        let stations = scenario.stations.iter().filter(is_home).map(|station| station.name.clone());
        let all = stations.chain([format!("{}-access-point", network.name)]);
        all.map(|name| (name, network.channel)).collect::<Vec<_>>()
    };
    let channels = scenario.networks.iter().flat_map(of_network).collect();
    let stations = scenario.stations.iter().filter(is_pipe).map(|station| station.name.clone());
    Ok(Links {
        has_session: scenario.session.is_some(),
        channels,
        piped: stations.chain(apart.iter().cloned()).collect(),
        apart,
        wire_delays: scenario.flows.into_iter().map(|flow| (flow.name, flow.wire.delay)).collect(),
    })
}

/// The logged packets of a run, without those of the warm-up.
pub struct Packets<'a> {
    folder: &'a RunFolder,
    from: Instant,
    demands: Vec<Option<DemandSchedule>>,
}

impl<'a> Packets<'a> {
    /// The packets in a folder; `None` if it has none.
    ///
    /// # Errors
    /// The scenario of the run cannot be read.
    pub fn of(folder: &'a RunFolder) -> Result<Option<Self>, RunsError> {
        if folder.existing(PACKETS).is_none() {
            return Ok(None);
        }
        let summary = folder.summary()?;
        let scenario = match Scenario::parse(&folder.scenario()?, "scenario.toml", &Overrides::none()) {
            Ok(scenario) => Some(scenario),
            // Of an emulation all flows of the scenario may have been left out; applications begin after the warm-up.
            Err(_) if summary.emulation.is_some() => None,
            Err(error) => return Err(error.into()),
        };
        let from = Instant::ZERO + scenario.as_ref().map_or(Span::ZERO, |scenario| scenario.warm_up);
        // By name: the table numbers flows that the scenario does not have, and may number others in another order.
        let demand = |name: &String| {
            let written = || scenario.as_ref()?.flows.iter().find(|flow| flow.name == *name);
            if let Some(flow) = written() {
                return flow.demand.clone();
            }
            let demand = summary.flows.iter().find(|flow| flow.name == *name)?.demand?;
            let latency = Span::from_secs_f64(demand.latency_ms / 1e3);
            Demand::new(latency, demand.percentile).ok().map(DemandSchedule::always)
        };
        let table = TableReader::<PacketRow>::open(&folder.file(PACKETS))?;
        let demands = table.info().flows.iter().map(demand).collect();
        Ok(Some(Self { folder, from, demands }))
    }

    /// Whether any flow has a demand, or this one.
    #[must_use]
    pub fn has_demand(&self, flow: Option<u32>) -> bool {
        match flow {
            None => self.demands.iter().any(Option::is_some),
            Some(flow) => self.demand(flow).is_some(),
        }
    }

    fn demand(&self, flow: u32) -> Option<&DemandSchedule> {
        self.demands.get(flow as usize).and_then(Option::as_ref)
    }

    /// Passes on the rows of a flow, or of all.
    fn each(&self, flow: Option<u32>, mut look: impl FnMut(PacketRow)) -> Result<(), RunsError> {
        for row in TableReader::<PacketRow>::open(&self.folder.file(PACKETS))? {
            let row = row?;
            if row.sent >= self.from && flow.is_none_or(|flow| row.flow == flow) {
                look(row);
            }
        }
        Ok(())
    }

    /// The `count` delivered packets that took longest from source to destination, the longest first.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn worst(&self, flow: Option<u32>, count: usize) -> Result<Vec<DeliveredPacket>, RunsError> {
        // By latency; of equal ones the earlier packet is the worse one.
        let mut longest: BTreeMap<(Span, Reverse<u64>), PacketRow> = BTreeMap::new();
        self.each(flow, |row| {
            if row.fate == Fate::Delivered {
                longest.insert((row.arrived.since(row.sent), Reverse(row.packet)), row);
                if longest.len() > count {
                    longest.pop_first();
                }
            }
        })?;
        let hops = self.folder.existing(HOPS);
        let told = longest.into_values().rev().map(|row| {
            let hops = hops.as_deref().map_or(Ok(Vec::new()), |path| find_hops(path, row.packet))?;
            Ok(told(row, hops))
        });
        Ok(told.collect::<Result<Vec<_>, RunsError>>()?.into_iter().flatten().collect())
    }

    /// The packets that were late, by flow; flows that cannot be late are left out.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn late(&self, flow: Option<u32>, late: Late) -> Result<Vec<LateFlow>, RunsError> {
        let mut flows: BTreeMap<u32, (u64, u64, Vec<PacketRow>)> = BTreeMap::new();
        self.each(flow, |row| {
            if matches!(late, Late::Demand) && self.demand(row.flow).is_none() {
                return;
            }
            let (packets, lost, rows) = flows.entry(row.flow).or_default();
            match row.fate {
                Fate::Queued => return,
                Fate::Dropped(_) => *lost += 1,
                Fate::Delivered if self.is_late(&row, late) => rows.push(row),
                Fate::Delivered => {}
            }
            *packets += 1;
        })?;
        let mut hops = self.hops_of(flows.values().flat_map(|(_, _, rows)| rows))?;
        let of_flow = |(flow, (packets, lost, rows)): (u32, (u64, u64, Vec<PacketRow>))| {
            let late =
                rows.into_iter().filter_map(|row| told(row, hops.remove(&row.packet).unwrap_or_default()));
            LateFlow { flow, packets, lost, late: late.collect() }
        };
        Ok(flows.into_iter().map(of_flow).collect())
    }

    fn is_late(&self, row: &PacketRow, late: Late) -> bool {
        match late {
            Late::Latency(most) => row.arrived.since(row.sent) > most,
            Late::Demand => {
                let demand =
                    self.demand(row.flow).and_then(|demand| demand.at(row.completed.since(Instant::ZERO)));
                demand.is_some_and(|demand| row.completed.since(row.enqueued) > demand.latency())
            }
        }
    }

    /// The hops of these packets, in order.
    fn hops_of<'r>(
        &self,
        rows: impl Iterator<Item = &'r PacketRow>,
    ) -> Result<BTreeMap<u64, Vec<HopRow>>, RunsError> {
        let Some(path) = self.folder.existing(HOPS) else { return Ok(BTreeMap::new()) };
        let mut hops: BTreeMap<u64, Vec<HopRow>> = rows.map(|row| (row.packet, Vec::new())).collect();
        for hop in TableReader::<HopRow>::open(&path)? {
            let hop = hop?;
            if let Some(hops) = hops.get_mut(&hop.packet) {
                hops.push(hop);
            }
        }
        Ok(hops)
    }
}

fn told(row: PacketRow, hops: Vec<HopRow>) -> Option<DeliveredPacket> {
    let split = Split::over(&hops, &row)?;
    Some(DeliveredPacket { row, hops, split })
}
