// Runs as a thread, and executes jq programs one after another. The pool terminates the thread if a program takes too
// long.
import { parentPort, workerData } from 'node:worker_threads';
import { changeOwner, type Instance, loadInstance, resetInstance } from './instance.ts';
import type { Answer, Call, ThreadData } from './pool.ts';

const { module, meter, maxOutputBytes }: ThreadData = workerData;

function run({ jq }: Instance, { program, input }: Pick<Call, 'program' | 'input'>): Answer {
  try {
    const { stdout, stderr, exitCode } = jq.raw(input, program, ['-c']);
    if (stdout.length > maxOutputBytes || Buffer.byteLength(stdout) > maxOutputBytes) return { isTooLarge: true };
    return { stdout, stderr: stderr.slice(0, maxOutputBytes), exitCode };
  } catch (error) {
    return { trap: String(error) };
  }
}

const first = await loadInstance(module);
// V8 compiles each of the module's functions on its first call. This must not count towards the first real call.
run(first, { program: ' [.[0] | .a, first("\\(.b)", null)] | tojson', input: '[{"a":1}]' });
let ready = resetInstance(first, module);

parentPort?.on('message', async (call: Call) => {
  const instance = await ready;
  changeOwner(instance, call.owner);
  const { user, system } = process.threadCpuUsage();
  meter[1] = user + system;
  meter[0] = call.number;
  const answer = run(instance, call);
  parentPort?.postMessage(answer);
  // The pool terminates a thread after a trap.
  if ('trap' in answer) return;
  ready = resetInstance(instance, module);
});
await ready;
parentPort?.postMessage('ready');
