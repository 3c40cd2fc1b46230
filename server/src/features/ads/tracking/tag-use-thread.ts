// Runs as a thread: reads the files that it is sent, one after the other. Its owner ends it if a file takes too long.
import { parentPort } from 'node:worker_threads';
import { readTagUse, type TagFile } from './tag-use.ts';

parentPort?.on('message', (file: TagFile) => parentPort?.postMessage(readTagUse(file)));
parentPort?.postMessage('ready');
