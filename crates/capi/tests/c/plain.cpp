// The header in C++: an object of a class owns each handle.
#include "airbound.h"

#include <cstdio>
#include <memory>

struct Release {
    void operator()(airbound_sender *sender) const { airbound_sender_free(sender); }
    void operator()(airbound_receiver *receiver) const { airbound_receiver_free(receiver); }
};

int main() {
    airbound_sender_config config{};
    airbound_sender *made = nullptr;
    if (airbound_sender_defaults(&config, sizeof config) != AIRBOUND_OK) return 1;
    config.most_bps = 80000000;
    if (airbound_sender_new(&config, &made) != AIRBOUND_OK) return 2;
    std::unique_ptr<airbound_sender, Release> sender(made);
    const uint8_t key[16] = {};
    if (airbound_sender_join(sender.get(), 0, 0, key) != AIRBOUND_OK) return 3;
    airbound_decision decision{};
    decision.size = sizeof decision;
    if (airbound_sender_poll(sender.get(), 0, 0, &decision) != AIRBOUND_OK) return 4;
    std::printf("%s\n", airbound_reason_text(decision.reason));
    return decision.reason == AIRBOUND_NO_FEEDBACK ? 0 : 5;
}
