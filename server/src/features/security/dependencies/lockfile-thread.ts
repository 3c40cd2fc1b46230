// Owns the thread in which lock files are parsed.
import { parentPort } from 'node:worker_threads';
import { type LockfileText, readLockfile } from './lockfile.ts';

parentPort?.on('message', (file: LockfileText) => parentPort?.postMessage(readLockfile(file)));
parentPort?.postMessage('ready');
