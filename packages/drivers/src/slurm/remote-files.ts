// The shared directory over ssh. What is asked at the same time goes in one call: a fixed script over there reads questions from its
// input, four words each, ended by NUL, and answers each with one line: a word, and content as base64. Names and content are data
// all the way; nothing of them is read by a shell.
import type { SharedFiles } from './shared-files.ts';

/** Runs bash with this script on the other side, with this input; gives what it printed. */
export type RemoteBash = (script: string, input: string) => Promise<string>;

type Words = readonly [op: string, path: string, more: string, still: string];

interface Question {
  readonly words: Words;
  readonly resolve: (answer: Buffer | null) => void;
  readonly reject: (error: Error) => void;
}

/** Fewer than a command's input may be long; what comes beside it goes in the next call. */
const togetherMax = 2000;

/** What `answer` says: ok with content, gone where nothing is there, or bad with the program's own words. */
const script = `umask 077
answer() {
  if [ "$1" = 0 ]; then printf 'ok %s\\n' "$2"; return; fi
  case $2 in
    *'No such file or directory'*) echo gone ;;
    *) printf 'bad %s\\n' "$(printf %s "$2" | base64 -w0)" ;;
  esac
}
text() { if [ "$1" = 0 ]; then answer 0 "$(printf %s "$2" | base64 -w0)"; else answer "$1" "$2"; fi; }
while IFS= read -r -d '' op && IFS= read -r -d '' path && IFS= read -r -d '' more && IFS= read -r -d '' still; do
  case $op in
    mode) said=$(stat -L -c %a -- "$path" 2>&1); text $? "$said" ;;
    make-new)
      said=$(mkdir -- "$path" 2>&1); code=$?
      case $code$said in *'File exists'*) text 0 no ;; 0*) text 0 yes ;; *) answer "$code" "$said" ;; esac ;;
    names) said=$(ls -A -- "$path" 2>&1); text $? "$said" ;;
    read) said=$(base64 -w0 -- "$path" 2>&1); answer $? "$said" ;;
    write)
      said=$({ printf %s "$more" | base64 -d > "$path.new" && mv -f -T -- "$path.new" "$path"; } 2>&1); answer $? "$said" ;;
    write-new)
      said=$({ whole=$(mktemp -- "$path.XXXXXXXX") && printf %s "$more" | base64 -d > "$whole" && ln -T -- "$whole" "$path"; code=$?; rm -f -- "$whole"; exit "$code"; } 2>&1); code=$?
      case $code$said in *'File exists'*) text 0 no ;; 0*) text 0 yes ;; *) answer "$code" "$said" ;; esac ;;
    move) said=$(mv -T -- "$path" "$more" 2>&1); answer $? "$said" ;;
    remove) said=$(rm -rf -- "$path" 2>&1); answer $? "$said" ;;
    piece)
      said=$(stat -L -c %s -- "$path" 2>&1); code=$?
      if [ "$code" = 0 ]; then
        data=$(tail -c "+$((more + 1))" -- "$path" 2> /dev/null | head -c "$still" | base64 -w0)
        text 0 "$said $data"
      else answer "$code" "$said"; fi ;;
    stamped)
      said=$(stat -c '%F/%i-%.Y-%s/%.Y/%s' -- "$path" 2>&1); code=$?
      IFS=/ read -r kind stamp written size <<< "$said"
      if [ "$code" != 0 ]; then answer "$code" "$said"
      elif [ "\${kind#regular }" = "$kind" ] || [ "$size" -gt "$more" ]; then text 0 no
      elif [ "$stamp" = "$still" ]; then text 0 same
      elif data=$(set -o pipefail; dd if="$path" iflag=nofollow,nonblock bs="$more" count=1 2> /dev/null | base64 -w0)
      then text 0 "new $stamp $written $data"
      else text 0 same; fi ;;
    changed) said=$(stat -L -c '%.Y %.Z' -- "$path" 2>&1); text $? "$said" ;;
    *) answer 1 "no such question: $op" ;;
  esac
done`;

export function remoteFiles(bash: RemoteBash): SharedFiles {
  let waiting: Question[] = [];

  function ask(op: string, path: string, more = '', still = ''): Promise<Buffer | null> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void flush());
      waiting.push({ words: [op, path, more, still], resolve, reject });
    });
  }

  async function flush(): Promise<void> {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += togetherMax)
      await send(all.slice(from, from + togetherMax));
  }

  async function send(questions: readonly Question[]): Promise<void> {
    try {
      const input = questions.map(({ words }) => words.map((word) => `${word}\0`).join('')).join('');
      const lines = (await bash(script, input)).split('\n').slice(0, -1);
      if (lines.length !== questions.length)
        throw new Error(`the login node answered ${lines.length} of ${questions.length} questions`);
      for (const [i, question] of questions.entries()) settle(question, lines[i] ?? '');
    } catch (error) {
      // Of those that were answered already this changes nothing.
      for (const { reject } of questions) reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  const content = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
  return {
    async mode(path) {
      const found = await ask('mode', path);
      return found && Number.parseInt(String(found), 8);
    },
    async makeNew(dir) {
      return String(await there(dir, ask('make-new', dir))) === 'yes';
    },
    async names(dir) {
      const list = await ask('names', dir);
      return (
        list &&
        String(list)
          .split('\n')
          .filter((name) => name !== '')
      );
    },
    async read(file) {
      const found = await ask('read', file);
      return found === null ? null : found.toString('utf8');
    },
    async write(file, text) {
      await there(file, ask('write', file, content(text)));
    },
    async writeNew(file, text) {
      return String(await there(file, ask('write-new', file, content(text)))) === 'yes';
    },
    async move(from, to) {
      await ask('move', from, to);
    },
    async remove(path) {
      await ask('remove', path);
    },
    async piece(file, offset, maxBytes) {
      const found = await ask('piece', file, String(offset), String(maxBytes));
      if (!found) return null;
      const [size = '', data = ''] = String(found).split(' ');
      return { size: Number(size), data: new Uint8Array(Buffer.from(data, 'base64')) };
    },
    async stamped(file, maxBytes, before) {
      const found = await ask('stamped', file, String(maxBytes), before?.stamp ?? '');
      const [word, stamp = '', written = '', data = ''] = String(found ?? 'no').split(' ');
      if (word === 'same') return before;
      if (word !== 'new') return null;
      const text = Buffer.from(data, 'base64').toString('utf8');
      return { stamp, text, writtenMs: Number(written) * 1000 };
    },
    async changedMs(path) {
      const found = await ask('changed', path);
      return (
        found &&
        Math.max(
          ...String(found)
            .split(' ')
            .map((seconds) => Number(seconds) * 1000),
        )
      );
    },
  };
}

function settle({ words, resolve, reject }: Question, line: string): void {
  const [word, data = ''] = line.split(' ');
  if (word === 'ok') resolve(Buffer.from(data, 'base64'));
  else if (word === 'gone') resolve(null);
  else reject(new Error(`${words[1]}: ${Buffer.from(data, 'base64').toString('utf8') || 'no answer'}`));
}

/** Something above it is missing. */
async function there(path: string, asked: Promise<Buffer | null>): Promise<Buffer> {
  const answer = await asked;
  if (answer === null) throw new Error(`${path}: the directory above it is not there`);
  return answer;
}
