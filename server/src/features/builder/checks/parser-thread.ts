// Runs as a thread: checks the files that it is sent, one after the other. Its owner ends it if a file takes too long.
import { parentPort } from 'node:worker_threads';
import { checkFile, type FileText } from './syntax.ts';

parentPort?.on('message', ({ path, text }: FileText) => parentPort?.postMessage(checkFile(path, text)));
parentPort?.postMessage('ready');
