"""Steps a second of ns-3 driven from Python: AP -> N stations, saturated UDP over VHT80 MCS9 2SS, as vht_udp.cc and the shipped scenario
vht-saturated-nN. Each step sets the access point's smallest window, runs 10 ms, and reads what each station has received.

usage: steps.py STATIONS MBPS STEPS      (with the package ns3 of PyPI; prints JSON:
steps a second of wall time and of processor time, goodput)
"""

import json
import sys
import time

from ns import ns

n, mbps, steps = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
payload, nss, ampdu = 1470, 2, 1048575

ns.Config.SetDefault("ns3::WifiMacQueue::MaxSize", ns.StringValue(f"{200 * n}p"))
ns.Config.SetDefault("ns3::WifiMacQueue::MaxDelay", ns.TimeValue(ns.Seconds(10)))
ns.Config.SetDefault("ns3::ArpCache::PendingQueueSize", ns.UintegerValue(100))
ap, sta = ns.NodeContainer(1), ns.NodeContainer(n)
mobility = ns.MobilityHelper()
mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
mobility.SetPositionAllocator("ns3::UniformDiscPositionAllocator", "rho", ns.DoubleValue(2.0))
mobility.Install(ap)
mobility.Install(sta)

wifi = ns.WifiHelper()
wifi.SetStandard(ns.WIFI_STANDARD_80211ac)
wifi.SetRemoteStationManager(
    "ns3::ConstantRateWifiManager", "DataMode", ns.StringValue("VhtMcs9"), "ControlMode", ns.StringValue("OfdmRate24Mbps")
)
channel = ns.YansWifiChannelHelper.Default()
phy = ns.YansWifiPhyHelper()
phy.SetChannel(channel.Create())
phy.Set("ChannelSettings", ns.StringValue("{0, 80, BAND_5GHZ, 0}"))
for key in ("Antennas", "MaxSupportedTxSpatialStreams", "MaxSupportedRxSpatialStreams"):
    phy.Set(key, ns.UintegerValue(nss))
mac = ns.WifiMacHelper()
ssid = ns.SsidValue(ns.Ssid("ref"))
mac.SetType("ns3::StaWifiMac", "Ssid", ssid, "ActiveProbing", ns.BooleanValue(False), "BE_MaxAmpduSize", ns.UintegerValue(ampdu))
sta_devices = wifi.Install(phy, mac, sta)
mac.SetType("ns3::ApWifiMac", "Ssid", ssid, "BE_MaxAmpduSize", ns.UintegerValue(ampdu))
ap_devices = wifi.Install(phy, mac, ap)
stack = ns.InternetStackHelper()
stack.Install(ap)
stack.Install(sta)
address = ns.Ipv4AddressHelper()
address.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.0.0"))
address.Assign(ap_devices)
interfaces = address.Assign(sta_devices)
control = ns.TrafficControlHelper()
control.Uninstall(ap_devices)
control.Uninstall(sta_devices)

sinks = []
interval = payload * 8 / (mbps * 1e6 / n)
for i in range(n):
    server = ns.UdpServerHelper(5000)
    servers = server.Install(sta.Get(i))
    servers.Start(ns.Seconds(0.0))
    sinks.append(servers.Get(0).GetObject[ns.UdpServer]())
    client = ns.UdpClientHelper(interfaces.GetAddress(i).ConvertTo(), 5000)
    client.SetAttribute("MaxPackets", ns.UintegerValue(4294967295))
    client.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(int(interval * 1e9))))
    client.SetAttribute("PacketSize", ns.UintegerValue(payload))
    client.Install(ap.Get(0)).Start(ns.Seconds(1.0 + interval * i / n))

ns.Simulator.Stop(ns.Seconds(2.0))
ns.Simulator.Run()
before = [sink.GetReceived() for sink in sinks]
began = time.perf_counter(), time.process_time()
for step in range(steps):
    window = ns.StringValue("31" if step % 2 else "15")
    ns.Config.Set("/NodeList/0/DeviceList/0/$ns3::WifiNetDevice/Mac/BE_Txop/MinCws", window)
    ns.Simulator.Stop(ns.MilliSeconds(10))
    ns.Simulator.Run()
    received = [sink.GetReceived() for sink in sinks]
rates = steps / (time.perf_counter() - began[0]), steps / (time.process_time() - began[1])
goodput = sum(now - then for now, then in zip(received, before)) * payload * 8 / (steps / 100) / 1e6
print(json.dumps({"rates": rates, "goodput_mbps": goodput}))
