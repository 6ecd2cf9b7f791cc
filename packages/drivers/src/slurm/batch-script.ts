// The script of a run: always the same text, but for the path of its directory. What a user wrote lies in files that the script
// hands on as data; no shell reads it as its own.
//
// Its first act is to claim the run's key, by making a directory that exists once: Slurm takes a name any number of times, and a
// submit that timed out may be carried out much later. Who finds the key claimed, or the run's directory gone, ends without
// having done anything. Then it is the run's supervisor: a step for each task, each exit written as it comes, and on USR1 the
// stop that lies in the directory: where it says so the program is asked to save its work first, and waited for; then the job's
// signal, its grace, and KILL. So a stop is seen through without us.
//
// A task writes its own output, into a file on the shared directory: nobody has to outlive it to write the last of it, and what Slurm kills
// with a step has been written. Of what is longer than may be kept the script drops the middle, by a hole in the file: that takes no
// room, moves nothing under the writer, and leaves the first half of the limit and the newest three eighths of it, as agents keep it.
// Where it ends is told first (claim/dropped-R: from, to), so that nobody reads the hole for output.

import { quoted } from './ssh.ts';

/** The step's only process, which becomes the task's. The words of its file: a directory, one to make, variables, the command. */
const step = `dir=$1 rank=$2
mapfile -d "" -t words < "$dir/task-$rank" || exit 126
exec >> "$dir/output-$rank" 2>&1 < /dev/null
cd -- "\${words[0]:-$HOME}" || exit 126
[ -z "\${words[1]}" ] || mkdir -p -- "\${words[1]}" || exit 126
mkdir -p -- "$dir/status-$rank" || exit 126
echo $$ > "$dir/claim/started-$rank.new" && mv "$dir/claim/started-$rank.new" "$dir/claim/started-$rank"
exec env -- "MUSTER_STATUS_FILE=$dir/status-$rank/status.json" "\${words[@]:2}"`;

export function batchScript(dir: string): string {
  return `#!/bin/bash
dir=${quoted(dir)}
unset LC_ALL TZ
export PATH=${defaultPath} HOME=~ USER="$(id -un)"
step=${quoted(step)}
steps=()

# Of the components of the job; steps are numbered across them.
jobs=("$SLURM_JOB_ID")
for ((i = 1; i < \${SLURM_HET_SIZE:-1}; i++)); do name="SLURM_JOB_ID_HET_GROUP_$i"; jobs+=("\${!name}"); done

# Of these files. One call at a time: what was told must never be less than what was dropped. The script itself lies on a disk of this node.
trim() {
  [ -s "$dir/output-limit" ] && [ -s "$1" -o $# -gt 1 ] && [ ! -e "$dir/claim/uncapped" ] || return
  read -r limit < "$dir/output-limit"
  [ -n "$(find "$@" -size "+\${limit}c" -print -quit 2> /dev/null)" ] || return
  { flock 9 && dropping "$@"; } 9< "$0"
}
dropping() {
  while read -r size name; do
    rank="\${name##*-}" to=$((limit / 2))
    [ -e "$dir/claim/dropped-$rank" ] && read -r _ to < "$dir/claim/dropped-$rank"
    [ "$((size - to))" -gt "$((limit / 2))" ] || continue
    can_drop || return
    to=$((size - limit * 3 / 8))
    echo "$((limit / 2)) $to" > "$dir/claim/dropped-$rank.new" && mv "$dir/claim/dropped-$rank.new" "$dir/claim/dropped-$rank" || return
    fallocate --punch-hole --offset "$((limit / 2))" --length "$((to - limit / 2))" "$name"
  done < <(stat -c '%s %n' "$@" 2> /dev/null)
}
# Not every file system makes holes; there all of it is kept.
can_drop() {
  [ -e "$dir/claim/capped" ] && return
  echo > "$dir/claim/probe"
  if fallocate --punch-hole --offset 0 --length 1 "$dir/claim/probe" 2> /dev/null; then : > "$dir/claim/capped"
  else : > "$dir/claim/uncapped"; return 1; fi
}

run() {
  group=(); [ "$6" != - ] && group=("--het-group=$6")
  srun "\${group[@]}" --nodes=1 --ntasks=1 --exact --export=ALL --quiet --nodelist="$2" --cpus-per-task="$3" --mem="$4" --gres="$5" \\
    bash -c "$step" muster "$dir" "$1" < /dev/null > "$dir/claim/srun-$1" 2>&1
  code=$?
  # It says 0 also when the node of the task failed; of a task that ended well it has nothing to say.
  [ "$code" = 0 ] && grep -q "^srun: error:" "$dir/claim/srun-$1" && code=lost
  trim "$dir/output-$1"
  stopped=no; [ -e "$dir/claim/stopping" -o -e "$dir/claim/asked" -o -e "$dir/claim/cancelled" ] && stopped=yes
  echo "$code $stopped" > "$dir/claim/exit-$1.new" && mv "$dir/claim/exit-$1.new" "$dir/claim/exit-$1"
}

# Steps beside those of the tasks signal their first processes. They are numbered after them, so all of those must be there.
ask() {
  while read -r rank node cpus memory gres group; do
    read -r pid < "$dir/claim/started-$rank"
    beside=(); [ "$group" != - ] && beside=("--het-group=$group")
    srun "\${beside[@]}" --overlap --nodes=1 --ntasks=1 --export=ALL --quiet --nodelist="$node" --cpus-per-task=1 --mem=0 --gres=none \\
      bash -c 'kill -s "$1" "$2"' muster "$1" "$pid" < /dev/null >> "$dir/claim/asked" 2>&1 &
  done < "$dir/steps"
  wait
}
all_started() {
  while read -r rank rest; do [ -e "$dir/claim/started-$rank" ] || return 1; done < "$dir/steps"
}

stop() {
  [ -e "$dir/claim/stopping" ] && return
  read -r signal grace ask wait < "$dir/stop" || return
  if [ "$ask" != - ] && [ ! -e "$dir/claim/waited" ] && all_started; then
    [ -e "$dir/claim/asked" ] && return
    : > "$dir/claim/asked"
    ask "$ask" &
    (sleep "$wait"; : > "$dir/claim/waited"; kill -USR1 "$$") &
    waiter=$!
    return
  fi
  [ -n "$waiter" ] && kill "$waiter"
  : > "$dir/claim/stopping"
  scancel --signal="$signal" "$SLURM_JOB_ID"
  (sleep "$grace"; while :; do scancel --signal=KILL "\${steps[@]}"; sleep 1; done) &
  killer=$!
}
trap stop USR1
# From here on a stop does not find the key free, and tells us by the signal.
if ! mkdir "$dir/claim" 2> /dev/null; then
  # A controller that was killed before it wrote that the job had begun runs it again, under its id.
  read -r claimed 2> /dev/null < "$dir/claim/job" && [ "$claimed" = "$SLURM_JOB_ID" ] && : > "$dir/claim/again"
  exit 0
fi
echo "$SLURM_JOB_ID" > "$dir/claim/job.new" && mv "$dir/claim/job.new" "$dir/claim/job"
[ -e "$dir/stop" ] && exit 0

tasks=()
while read -r rank node cpus memory gres group; do
  [ -e "$dir/claim/stopping" ] && break
  for job in "\${jobs[@]}"; do steps+=("$job.\${#tasks[@]}"); done
  run "$rank" "$node" "$cpus" "$memory" "$gres" "$group" &
  tasks+=("$!")
done < "$dir/steps"
[ -s "$dir/output-limit" ] && { (while sleep 10; do trim "$dir"/output-[0-9]*; done) & trimmer=$!; }
for task in "\${tasks[@]}"; do
  while kill -0 "$task" 2> /dev/null; do wait "$task"; done
done
kill $trimmer $killer $waiter 2> /dev/null
exit 0
`;
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
