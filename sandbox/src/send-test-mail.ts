// Sends a mail to the sandbox's mail server as an SMTP client does, for tests.
import { once } from 'node:events';
import { connect } from 'node:net';

/** `lines` are the mail's headers, an empty line, and its body. */
export async function sendTestMail(smtpUrl: string, to: string, ...lines: string[]): Promise<void> {
  const socket = connect(Number(new URL(smtpUrl).port), '127.0.0.1').setEncoding('utf8');
  const say = async (line: string) => {
    socket.write(`${line}\r\n`);
    const [reply] = (await once(socket, 'data')) as [string];
    if (!/^[23]/.test(reply)) throw new Error(`the mail server answered ${reply}`);
  };
  await once(socket, 'data');
  for (const line of ['EHLO test', 'MAIL FROM:<plinth@example.com>', `RCPT TO:<${to}>`, 'DATA']) await say(line);
  await say(`${lines.join('\r\n')}\r\n.`);
  socket.end('QUIT\r\n');
}
