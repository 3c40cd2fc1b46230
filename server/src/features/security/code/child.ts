// Runs as a process of its own: reads the files of one app that it is sent, one after the other. Files of strangers can make parsers
// and patterns run without end or use all memory: its owner kills it then. It never runs code of the app.
import { flushCompileCache } from 'node:module';
import { setPriority } from 'node:os';
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

flushCompileCache(); // before it sees a file; and a killed process would write nothing
setPriority(10); // requests come first
new Worker(new URL('owner-watch.ts', import.meta.url), { workerData: { ownerPid: Number(process.argv[2]) } });
process.on('message', async (request: ChildRequest) => {
  // What is thrown here is about the file: too deep for the parser, or not readable.
  const answered = await answer(request).catch((): ChildAnswer => {
    if (request.kind !== 'ping') reader.program.remove(request.path); // so that files which import it can still be read
    return { kind: 'failed' };
  });
  process.send?.(answered);
});
// Without its owner there is nobody to answer.
process.on('disconnect', () => process.exit(0));
