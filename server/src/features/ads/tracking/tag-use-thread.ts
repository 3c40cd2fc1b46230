// Runs as a thread that reads the files sent to it one at a time. Its owner ends it if a file takes too long.
import { parentPort } from 'node:worker_threads';
import { readTagUse, type TagFile } from './tag-use.ts';

parentPort?.on('message', (file: TagFile) => parentPort?.postMessage(readTagUse(file)));
parentPort?.postMessage('ready');
