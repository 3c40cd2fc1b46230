// Jq's WebAssembly module. It is compiled once per process, with a lower memory limit than the built-in limit.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

declare global {
  // Node's types don't include WebAssembly, and the browser library would add all other browser types.
  namespace WebAssembly {
    class Module {
      private readonly module: never;
    }
    class Memory {
      readonly buffer: ArrayBuffer;
    }
    type Imports = Readonly<Record<string, unknown>>;
    class Instance {
      constructor(module: Module, imports: Imports);
      readonly exports: Readonly<Record<string, unknown>>;
    }
    function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
  }
}

const maxMemoryMiB = 64;
const pagesPerMiB = 16;

let module: Promise<WebAssembly.Module> | undefined;

export function getJqModule(): Promise<WebAssembly.Module> {
  module ??= readFile(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm')).then((bytes) =>
    WebAssembly.compile(limitMemory(bytes, maxMemoryMiB * pagesPerMiB)),
  );
  return module;
}

const headerBytes = 8;
const memorySection = 5;

/**
 * Returns the module with a different memory limit. A worker thread's resource limits don't cover WebAssembly memory,
 * so the module's own maximum is the only limit. The new number has the same length in bytes, so nothing else moves.
 */
export function limitMemory(bytes: Uint8Array, maxPages: number): Uint8Array<ArrayBuffer> {
  const limited = new Uint8Array(bytes);
  for (let offset = headerBytes; offset < limited.length; ) {
    const section = limited[offset];
    const size = readNumber(limited, offset + 1);
    if (section === memorySection) {
      writeMaximum(limited, size.end, maxPages);
      return limited;
    }
    offset = size.end + size.value;
  }
  throw new Error('the module of jq has no memory of its own');
}

/**
 * The section contains the number of memories (1), flags (1 if there is a maximum), the initial size and the maximum.
 */
function writeMaximum(bytes: Uint8Array, start: number, maxPages: number): void {
  const [memories, flags] = bytes.subarray(start, start + 2);
  const initial = readNumber(bytes, start + 2);
  const { value, end } = readNumber(bytes, initial.end);
  if (memories !== 1 || flags !== 1 || initial.value > maxPages || value < maxPages)
    throw new Error('the memory of jq is not declared as expected');
  for (let offset = initial.end; offset < end; offset += 1) {
    const isLast = offset === end - 1;
    bytes[offset] = ((maxPages >> (7 * (offset - initial.end))) & 0x7f) | (isLast ? 0 : 0x80);
  }
}

/** Reads an unsigned LEB128 number. Returns its value and the offset after it. */
function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let offset = start; ; offset += 1) {
    const byte = bytes[offset] ?? 0;
    value |= (byte & 0x7f) << (7 * (offset - start));
    if (byte < 0x80) return { value: value >>> 0, end: offset + 1 };
  }
}
