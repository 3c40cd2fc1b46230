// npm run sandbox: the outside world on loopback, for development.
import { startModelSandbox } from './model.ts';
import { startMailSandbox } from './smtp.ts';

const mail = await startMailSandbox({ smtp: 2525, inbox: 2580 });
console.log(`mail: SMTP_URL=${mail.smtpUrl}   inbox: ${mail.inboxUrl}`);
const model = await startModelSandbox(2590, 40);
console.log(`model: MODEL_URL=${model.url}`);
