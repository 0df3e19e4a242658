// SPDX-License-Identifier: GPL-2.0-only
// Prints for each rate of 802.11a the SNR in dB at which ns-3's table-based error model loses half of the MPDUs of 1458 B.
// g++ -O2 -std=c++17 error_curve.cc -o error_curve -lns3-core -lns3-network -lns3-wifi
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <iomanip>
#include <iostream>

using namespace ns3;

int
main()
{
    const double step = 0.25; // the table's own steps are of 0.5 dB
    auto model = CreateObject<TableBasedErrorRateModel>();
    for (uint64_t mbps : {6, 9, 12, 18, 24, 36, 48, 54})
    {
        WifiMode mode = OfdmPhy::GetOfdmRate(mbps * 1000000);
        WifiTxVector vector;
        vector.SetMode(mode);
        vector.SetChannelWidth(20);
        auto lost = [&](double db) {
            return 1 - model->GetChunkSuccessRate(mode, vector, DbToRatio(db), 1458 * 8, 1);
        };
        double db = -10;
        while (lost(db + step) > 0.5)
        {
            db += step;
        }
        double above = lost(db), below = lost(db + step);
        std::cout << mbps << "," << std::fixed << std::setprecision(3) << db + step * (above - 0.5) / (above - below) << "\n";
    }
    return 0;
}
