// The thread that parses lock files.
import { parentPort } from 'node:worker_threads';
import { type LockfileText, readLockfile } from './lockfile.ts';

parentPort?.on('message', (file: LockfileText) => parentPort?.postMessage(readLockfile(file)));
parentPort?.postMessage('ready');
