// Reads the bodies of answers that arrive over a long time: a silent connection counts as lost.

/** The server sends at least a ping every 15 seconds to a stream. */
const silentMs = 45_000;

/** Yields the lines of a body. Throws if nothing arrives for too long. */
export async function* readLines(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of readChunks(response)) {
    // The parts of a line are joined when it ends: a long line takes time in proportion to its length.
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    rest.push(first);
    for (const next of more) {
      yield rest.join('').replace(/\r$/, '');
      rest = [next];
    }
  }
  const last = rest.join('') + decoder.decode();
  if (last !== '') yield last;
}

/** Reads a whole body of any size. Throws if nothing arrives for too long. */
export async function readBytes(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of readChunks(response)) chunks.push(chunk);
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

async function* readChunks(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await readSoon(reader);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

async function readSoon(reader: Reader): Promise<Awaited<ReturnType<Reader['read']>>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error('nothing arrived for 45 seconds')), silentMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
