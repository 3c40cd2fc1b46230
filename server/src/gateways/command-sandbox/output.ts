// Owns what is kept of a command's output: its beginning and its end, without anything that a terminal would obey.

export interface OutputCollector {
  add(bytes: Buffer): void;
  /** How many bytes the command has printed. */
  readonly received: number;
  /** Adds a line of ours. */
  note(text: string): void;
  end(): { output: string; is_cut: boolean };
}

/** Keeps half of `maxBytes` from the beginning and half from the end, where tests and compilers say what failed. */
export function collectOutput(maxBytes: number, onOutput: ((text: string) => void) | undefined): OutputCollector {
  const decoder = new TextDecoder();
  let received = 0;
  let unfinished = '';
  let head = '';
  let tail = '';
  let shown = 0;
  let leftOut = false;

  function addText(text: string): void {
    if (text === '') return;
    show(text);
    const freeBytes = Math.floor(maxBytes / 2) - Buffer.byteLength(head);
    if (tail === '' && !leftOut && Buffer.byteLength(text) <= freeBytes) head += text;
    else if (tail === '' && !leftOut) {
      const first = cutToBytes(text, freeBytes);
      head += first;
      addToTail(text.slice(first.length));
    } else addToTail(text);
  }

  function addToTail(text: string): void {
    tail += text;
    // Not at each piece: cutting copies the text.
    if (tail.length > maxBytes * 2) cutTail();
  }

  function cutTail(): void {
    const cut = cutToLastBytes(tail, Math.ceil(maxBytes / 2));
    leftOut ||= cut.length < tail.length;
    tail = cut;
  }

  function show(text: string): void {
    const piece = cutToBytes(text, maxBytes - shown);
    shown += Buffer.byteLength(text);
    if (piece !== '') onOutput?.(piece);
  }

  function decode(bytes: Buffer | undefined): void {
    const text = unfinished + (bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }));
    unfinished = bytes === undefined ? '' : (unfinishedSequence.exec(text)?.[0] ?? '');
    addText(makeHarmless(text.slice(0, text.length - unfinished.length)));
  }

  return {
    add(bytes) {
      received += bytes.length;
      decode(bytes);
    },
    note: (text) => addText(`\n[${text}]\n`),
    get received() {
      return received;
    },
    end() {
      decode(undefined);
      cutTail();
      return { output: leftOut ? `${head}\n[… output left out …]\n${tail}` : head + tail, is_cut: leftOut };
    },
  };
}

const esc = '\u001b';
/** Colours and movements of the cursor, such as `ESC [ 31 m`. */
const sequence = new RegExp(`${esc}\\[[0-9:;<=>?]{0,32}[ -/]{0,4}[@-~]`, 'g');
/** The rest of it, or of a line end, may come with the next piece. */
const unfinishedSequence = new RegExp(`(?:\\r|${esc}(?:\\[[0-9:;<=>?]{0,32}[ -/]{0,4})?)$`);
/** Control characters, and those that change the direction in which text is shown. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Leaves out colours. Makes other control characters visible, but for line ends and tabulators. */
export function makeHarmless(text: string): string {
  return text.replace(sequence, '').replace(/\r\n?/g, '\n').replace(controls, toVisible);
}

function toVisible(character: string): string {
  const code = character.charCodeAt(0);
  if (character === '\n' || character === '\t') return character;
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // the Unicode picture of it, such as ␛
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** At most so many bytes of UTF-8, and no half character. */
function cutToBytes(text: string, maxBytes: number): string {
  if (maxBytes <= 0) return '';
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

function cutToLastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (isContinuation(bytes[start])) start += 1;
  return bytes.toString('utf8', start);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
