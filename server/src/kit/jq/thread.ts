// Runs as a thread: runs the programs that it is sent with jq, one after the other. Its owner ends it if one takes too long.
import { parentPort, workerData } from 'node:worker_threads';
import { type Jq, loadJq } from 'jq-wasm';
import type { Answer, Call, ThreadData } from './pool.ts';

const { module, meter, maxOutputBytes }: ThreadData = workerData;

interface Instance {
  readonly jq: Jq;
  readonly memory: WebAssembly.Memory;
  /** The memory before the first call, up to its last byte that is not zero. */
  readonly initial: Uint8Array;
}

async function load(): Promise<Instance> {
  let memory: WebAssembly.Memory | undefined;
  const jq = await loadJq({
    instantiateWasm(imports, onSuccess) {
      const instance = new WebAssembly.Instance(module, imports);
      memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
      onSuccess(instance, module);
    },
  });
  if (memory === undefined) throw new Error('jq exports no memory');
  return { jq, memory, initial: copyUsed(memory) };
}

function copyUsed({ buffer }: WebAssembly.Memory): Uint8Array {
  const words = new Uint32Array(buffer);
  let used = words.length;
  while (used > 0 && words[used - 1] === 0) used -= 1;
  return new Uint8Array(buffer.slice(0, used * Uint32Array.BYTES_PER_ELEMENT));
}

/**
 * Makes the instance as it was before the call. jq's stack lies above its static data, without a guard between the two: a
 * deep recursion may write over that data, and calls of others would read it. A new instance takes longer than most calls,
 * so it is made only if the memory has grown, which can't be undone.
 */
async function reset(instance: Instance, initialBytes: number): Promise<Instance> {
  if (instance.memory.buffer.byteLength > initialBytes) return load();
  new Uint8Array(instance.memory.buffer).set(instance.initial);
  return instance;
}

function run({ jq }: Instance, { program, input }: Omit<Call, 'number'>): Answer {
  try {
    const { stdout, stderr, exitCode } = jq.raw(input, program, ['-c']);
    if (stdout.length > maxOutputBytes || Buffer.byteLength(stdout) > maxOutputBytes) return { isTooLarge: true };
    return { stdout, stderr: stderr.slice(0, maxOutputBytes), exitCode };
  } catch (error) {
    return { trap: String(error) };
  }
}

let instance = await load();
const initialBytes = instance.memory.buffer.byteLength;
// V8 compiles a function of the module when it is first called. That must not count as time of the first call.
run(instance, { program: ' [.[0] | .a, first("\\(.b)", null)] | tojson', input: '[{"a":1}]' });
instance = await reset(instance, initialBytes);

parentPort?.on('message', async (call: Call) => {
  const { user, system } = process.threadCpuUsage();
  meter[1] = user + system;
  meter[0] = call.number;
  const answer = run(instance, call);
  parentPort?.postMessage(answer);
  // The owner drops a thread whose call trapped.
  if ('trap' in answer) return;
  instance = await reset(instance, initialBytes);
});
parentPort?.postMessage('ready');
