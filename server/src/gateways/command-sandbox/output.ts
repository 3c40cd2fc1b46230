// The part of a command's output that is kept: its start and end, without terminal control sequences.
import { makeHarmless, unfinishedSequence } from '../../kit/harmless.ts';

export interface OutputCollector {
  add(bytes: Buffer): void;
  /** The number of bytes printed by the command so far. */
  readonly received: number;
  /** Adds our own line to the output. */
  note(text: string): void;
  end(): { output: string; is_cut: boolean };
}

/** Keeps half of `maxBytes` from the start and half from the end, where tests and compilers report failures. */
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
    // Not done for every piece, because cutting copies the text.
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

/** Cuts the text to at most this many bytes of UTF-8, without splitting a character. */
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
