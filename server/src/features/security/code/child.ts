// Runs as a separate process that reads one app's files, one at a time. Untrusted files can make parsers and regular
// expressions run forever or exhaust memory, in which case the owner kills the process. It never runs the app's code.
import { flushCompileCache } from 'node:module';
import { getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { scanSecrets } from '../secrets/secrets.ts';
import type { ChildAnswer, ChildRequest } from './protocol.ts';
import { createAppReader } from './scan-file.ts';

const reader = createAppReader();

async function answer(request: ChildRequest): Promise<ChildAnswer> {
  switch (request.kind) {
    case 'ping':
      return { kind: 'ready' };
    case 'add':
      reader.program.add(request.path, request.code);
      return { kind: 'added' };
    case 'secrets': {
      const { path, content, key } = request;
      return { kind: 'secrets', ...(await scanSecrets({ path, content }, key)) };
    }
    case 'read':
      return { kind: 'read', findings: reader.read(request.path) };
  }
}

flushCompileCache(); // written before any file is read, because a killed process writes nothing
// Leaves the CPU to the server's requests. Only root may take a higher priority than the server was started with.
setPriority(Math.max(getPriority(), 10));
new Worker(new URL('owner-watch.ts', import.meta.url), { workerData: { ownerPid: Number(process.argv[2]) } });
process.on('message', async (request: ChildRequest) => {
  // An error here is caused by the file, which is either nested too deeply or unreadable.
  const answered = await answer(request).catch((): ChildAnswer => {
    if (request.kind !== 'ping') reader.program.remove(request.path); // files that import it can still be read
    return { kind: 'failed' };
  });
  process.send?.(answered);
});
// Once the owner has exited, the results are no longer needed.
process.on('disconnect', () => process.exit(0));
