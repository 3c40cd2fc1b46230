// npm run sandbox: the outside world on loopback, for development. `npm run dev` starts it as a child process and receives
// the addresses as a message.
import { startModelSandbox } from './model.ts';
import { startReceiver } from './receiver.ts';
import { startS3Sandbox } from './s3.ts';
import { startMailSandbox } from './smtp.ts';

const mail = await startMailSandbox({ smtp: 2525, inbox: 2580 }).catch(onlyIfTaken(() => startMailSandbox()));
const model = await startModelSandbox(2590, 40).catch(onlyIfTaken(() => startModelSandbox(0, 40)));
const print = (line: string) => console.log(`receiver  ${line}`);
const receiver = await startReceiver(2600, print).catch(onlyIfTaken(() => startReceiver(0, print)));
const s3 = await startS3Sandbox(2610).catch(onlyIfTaken(() => startS3Sandbox()));

if (process.send !== undefined) {
  process.send({
    smtpUrl: mail.smtpUrl,
    inboxUrl: mail.inboxUrl,
    modelUrl: model.url,
    receiverUrl: receiver.url,
    s3Url: s3.endpoint,
  });
  process.once('disconnect', () => process.exit()); // the parent has exited
} else {
  console.log(`mail: SMTP_URL=${mail.smtpUrl}   inbox: ${mail.inboxUrl}`);
  console.log(`model: MODEL_URL=${model.url}`);
  console.log(`receiver: ${receiver.url}   received: ${receiver.url}/received`);
  console.log(`s3: STORAGE_S3_ENDPOINT=${s3.endpoint}   STORAGE_S3_BUCKET=${s3.bucket}`);
}

/** Another sandbox may be running: a free port is as good. */
function onlyIfTaken<T>(startElsewhere: () => Promise<T>) {
  return (error: NodeJS.ErrnoException): Promise<T> => {
    if (error.code !== 'EADDRINUSE') throw error;
    return startElsewhere();
  };
}
