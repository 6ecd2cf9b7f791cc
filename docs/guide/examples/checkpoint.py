"""Counts to a goal, saves how far it came, and goes on from there after a preemption."""

import json
import os
import signal
import sys
import time

goal = int(sys.argv[1])
checkpoint = os.path.join(os.environ["CHECKPOINT_DIR"], "checkpoint.json")
asked = False


def on_ask(_signal, _frame):
    global asked
    asked = True


def replace(path, value):
    """A reader sees the old file or the new one, never half of it."""
    with open(path + ".new", "w") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def save(step):
    replace(checkpoint, {"step": step})
    # Only once the work is safe: what is lost in a preemption is counted from here.
    if "MUSTER_STATUS_FILE" in os.environ:
        replace(os.environ["MUSTER_STATUS_FILE"], {"step": step, "path": checkpoint})


def load():
    try:
        with open(checkpoint) as file:
            return json.load(file)["step"]
    except FileNotFoundError:
        return 0


signal.signal(signal.SIGUSR1, on_ask)
step = load()
print(f"attempt {os.environ.get('MUSTER_ATTEMPT', '1')} starts at step {step}", flush=True)
while step < goal:
    time.sleep(0.02)  # the work of one step
    step += 1
    if asked or step % 1000 == 0:
        asked = False
        save(step)
save(step)
print(f"done at step {step}", flush=True)
