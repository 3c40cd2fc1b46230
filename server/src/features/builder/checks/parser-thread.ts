// Runs as a thread that checks the files it receives, one at a time. Its owner ends the thread if a file takes too
// long.
import { parentPort } from 'node:worker_threads';
import { checkFile, type FileText } from './syntax.ts';

parentPort?.on('message', ({ path, text }: FileText) => parentPort?.postMessage(checkFile(path, text)));
parentPort?.postMessage('ready');
