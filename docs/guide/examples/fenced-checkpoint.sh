#!/bin/sh
# Checkpoints in a directory that refuses an older attempt. A program calls
#   fenced-checkpoint.sh begin        before it reads: its attempt is the newest from now on; prints the newest checkpoint, if there is one
#   fenced-checkpoint.sh save FILE    FILE becomes the newest checkpoint, under a name of its own in the directory
# and exits when either answers 75: a newer attempt has begun, and nothing that this one writes counts any more.
#
# The file `newest` holds the highest attempt and its checkpoint. It is read and written under one lock, and written through the very
# descriptor that holds the lock: where a file server took the lock away meanwhile (NFS), the write fails and nothing has changed.
set -eu
dir=${MUSTER_CHECKPOINT_DIR:?is set where the operator gave jobs a directory for checkpoints}
attempt=${MUSTER_ATTEMPT:?is set by Muster}
refused=75

case ${1:-} in
  begin) ;;
  save) file=${2:?say which file} ;;
  *) echo 'usage: fenced-checkpoint.sh begin | save FILE' >&2; exit 64 ;;
esac

exec 9<> "$dir/newest"
flock 9
highest=0 checkpoint=
# Not by the descriptor: it must stay at the beginning for the write.
read -r highest checkpoint < "$dir/newest" || :
case ${highest:-0} in
  *[!0-9]*) echo "$dir/newest does not begin with the number of an attempt; nothing is taken until somebody has looked" >&2; exit 70 ;;
esac
if [ "${highest:-0}" -gt "$attempt" ]; then
  echo "refused: attempt $highest has begun, and this is attempt $attempt" >&2
  exit "$refused"
fi
if [ "$1" = save ]; then
  # By attempt, so that what an older one puts here overwrites nothing.
  checkpoint=$attempt-${file##*/}
  mv -- "$file" "$dir/$checkpoint"
  sync "$dir/$checkpoint" 2> /dev/null || sync
fi
# Always as long, so that one write replaces all of it.
printf '%-255s\n' "$attempt $checkpoint" >&9
if [ "$1" = begin ] && [ -n "$checkpoint" ]; then echo "$dir/$checkpoint"; fi
