//! Golden summaries of a few short scenarios, compared byte by byte. An intended change is accepted with
//! `INSTA_UPDATE=always cargo test -p airbound-sim --test all golden`, and reviewed like code.

use crate::simulate;

fn golden(name: &str, text: &str) {
    let summary = simulate::run(text).summary.to_json().unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, summary);
    });
}

/// A VR stream, a call and a download over a fading 802.11n link.
fn home(queue: &str) -> String {
    format!(
        "duration = \"1 s\"\nwarm-up = \"500 ms\"\n[air]\nstandard = \"ht\"\nwidth = \"40 MHz\"\nguard-interval = \"400 ns\"\n\
         [scheme]\nqueue = \"{queue}\"\n[access-point]\npreset = \"ath9k-fq\"\n\
         [[station]]\nname = \"headset\"\nchannel = {{ kind = \"log-distance\", distance = \"6 m\", shadowing = \"2 dB\", fading = \"rician\" }}\n\
         [[station]]\nname = \"laptop\"\nchannel = {{ kind = \"log-distance\", distance = \"12 m\", fading = \"rayleigh\" }}\n\
         [[flow]]\nname = \"vr\"\nkind = \"vr\"\nstation = \"headset\"\nsize-law = \"lognormal(0.2)\"\n\
         [[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"laptop\"\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"laptop\"\n"
    )
}

#[test]
fn home_under_each_queue() {
    for queue in ["fifo", "codel", "pie", "fq-codel", "linux", "round-robin"] {
        golden(&format!("home-{queue}"), &home(queue));
    }
}

#[test]
fn uplinks_of_many_stations_contend() {
    golden(
        "contending-uplinks",
        "duration = \"1 s\"\n[air]\nrts-threshold = \"2000 B\"\n\
         [[station]]\nname = \"s\"\ncount = 8\nchannel = { kind = \"fixed\", snr = \"30 dB\" }\n\
         [[flow]]\nname = \"up\"\nkind = \"tcp\"\nstation = \"s\"\ndirection = \"up\"\ncongestion = \"bbr\"\n\
         [[flow]]\nname = \"call\"\nkind = \"voip\"\nstation = \"s-1\"\n[[neighbour]]\nname = \"other\"\ncategory = \"vi\"\n",
    );
}

#[test]
fn a_measured_trace_dictates_the_rate() {
    golden(
        "crowded-room",
        "duration = \"2 s\"\n[scheme]\nsender = \"reno\"\n[wire]\ndelay = \"10 ms\"\nloss = 0.001\n\
         [[station]]\nname = \"s\"\nchannel = { kind = \"trace\", file = \"shipped:crowded-room.log\" }\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"s\"\n\
         [[flow]]\nname = \"pages\"\nkind = \"tcp-short\"\nstation = \"s\"\n",
    );
}

#[test]
fn real_time_video_is_repaired_and_paced() {
    golden(
        "real-time-video",
        "duration = \"2 s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[wire]\ndelay = \"10 ms\"\nloss = 0.02\n\
         [[station]]\nname = \"s\"\nchannel = { kind = \"log-distance\", distance = \"12 m\", fading = \"rayleigh\" }\n\
         [[flow]]\nname = \"game\"\nkind = \"rtc\"\nstation = \"s\"\nstart-rate = \"3 Mbit/s\"\n\
         [[flow]]\nname = \"camera\"\nkind = \"rtc\"\nstation = \"s\"\ndirection = \"up\"\nfec = \"none\"\nrate = \"2 Mbit/s\"\n",
    );
}

#[test]
fn a_pipe_replaces_the_air() {
    golden(
        "swinging-pipe",
        "duration = \"2 s\"\n[scheme]\nqueue = \"codel\"\n\
         [[station]]\nname = \"s\"\nchannel = { kind = \"trace\", file = \"shipped:swinging-pipe.mahi\" }\n\
         [[flow]]\nname = \"stream\"\nkind = \"vr\"\ntransport = \"udp\"\nrate = \"8 Mbit/s\"\nstation = \"s\"\n\
         [[flow]]\nname = \"noise\"\nkind = \"poisson\"\nrate = \"3 Mbit/s\"\nstation = \"s\"\ndirection = \"up\"\n",
    );
}
