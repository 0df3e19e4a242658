"""FFmpeg's WHIP muxer (libavformat of PyAV): a camera of noise in H.264.

usage: ffmpeg_peer.py ADDRESS whip NAME
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import av

address, _, name = sys.argv[1:4]
base, token = address.split("#")
# On GnuTLS its own certificate is one of P-224, which OpenSSL does not take (findings/ffmpeg-whip-certificate.sh).
folder = tempfile.mkdtemp()
key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=camera"]
subprocess.run(["openssl", "req", "-x509", *curve, "-keyout", key, "-out", certificate], check=True, capture_output=True)
options = {"authorization": token, "cert_file": certificate, "key_file": key}
output = av.open(f"{base}whip?name={name}", "w", format="whip", options=options)
camera = output.add_stream("libx264", rate=25, options={"tune": "zerolatency", "preset": "ultrafast", "g": "25", "bf": "0"})
camera.width, camera.height, camera.pix_fmt, camera.profile = 160, 120, "yuv420p", "Baseline"
camera.bit_rate = 400_000
print(json.dumps({"seat": ""}), flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
count = 0
while not stop.is_set():
    frame = av.VideoFrame(160, 120, "yuv420p")
    for plane in frame.planes:
        plane.update(os.urandom(plane.buffer_size))
    frame.pts = count
    output.mux(camera.encode(frame))
    count += 1
    time.sleep(0.04)
output.close()
