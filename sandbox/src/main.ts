// npm run sandbox: the outside world on loopback, for development.
import { startMailSandbox } from './smtp.ts';

const mail = await startMailSandbox({ smtp: 2525, inbox: 2580 });
console.log(`mail: SMTP_URL=${mail.smtpUrl}   inbox: ${mail.inboxUrl}`);
