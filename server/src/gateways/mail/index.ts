// Outgoing mail over SMTP. Failures are returned as results, not thrown.
import type { Transporter } from 'nodemailer';
import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';
import { isOnThisMachine } from '../../kit/outbound/address.ts';

export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface MailConnection {
  readonly isEncrypted: boolean;
  readonly isSignedIn: boolean;
}

export interface Mail {
  /** False if no SMTP server is configured. Links are then shown to the caller, or printed by an operator's command. */
  readonly configured: boolean;
  /** The page that shows all mails, if a stand-in for a mail server keeps them instead of delivering them. */
  readonly inboxUrl: string | undefined;
  /**
   * `sent` means that the server accepted the e-mail. `failed` means that it did not, or could not be reached. `off`
   * means that no server is configured.
   */
  send(message: Message): Promise<'sent' | 'failed' | 'off'>;
  /** Connects and signs in as `send` does, without sending a message. Throws if that fails. For `plinth doctor`. */
  check(): Promise<MailConnection>;
  close(): void;
}

export function openMail(smtpUrl: string | undefined, from: string, onFailure: (error: unknown) => void): Mail {
  if (smtpUrl === undefined)
    return {
      configured: false,
      inboxUrl: undefined,
      send: async () => 'off',
      check: () => Promise.reject(new Error('no SMTP server is configured')),
      close: () => {},
    };
  const { server, inboxUrl } = readAddress(smtpUrl);
  const timeouts = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
  let transport: Promise<Transporter> | undefined;
  const openTransport = async () => {
    const { createTransport } = await import('nodemailer'); // large, and only needed by processes that send mail
    return createTransport({ url: server, ...timeouts });
  };
  return {
    configured: true,
    inboxUrl,
    async send(message) {
      try {
        transport ??= openTransport();
        await (await transport).sendMail({ from, ...message });
        return 'sent';
      } catch (error) {
        onFailure(error);
        return 'failed';
      }
    },
    async check() {
      transport ??= openTransport();
      return checkConnection((await transport).options as SMTPConnectionOptions);
    },
    close: () => void transport?.then((open) => open.close()),
  };
}

/**
 * A stand-in on this machine names its inbox in its address:
 *
 *   smtp://127.0.0.1:2525?inbox=http%3A%2F%2F127.0.0.1%3A2580%2Finbox
 */
function readAddress(smtpUrl: string): { readonly server: string; readonly inboxUrl: string | undefined } {
  const address = new URL(smtpUrl);
  const inbox = address.searchParams.get('inbox');
  if (inbox === null) return { server: smtpUrl, inboxUrl: undefined };
  address.searchParams.delete('inbox');
  const page = URL.parse(inbox);
  const isHere = page?.protocol === 'http:' && isOnThisMachine(page) && page.username === '';
  return { server: address.href, inboxUrl: isHere ? inbox : undefined };
}

async function checkConnection({
  auth,
  ...options
}: SMTPConnectionOptions & { auth?: Login }): Promise<MailConnection> {
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
  const connection = new SMTPConnection(options);
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {}); // also rejects when the check closes the connection
  connection.once('error', ended.reject);
  connection.once('end', () => ended.reject(new Error('the server closed the connection')));
  connection.on('error', () => {}); // errors after the first
  try {
    await Promise.race([new Promise<void>((resolve) => connection.connect(() => resolve())), ended.promise]);
    if (auth !== undefined) await Promise.race([signIn(auth), ended.promise]);
    return { isEncrypted: connection.secure, isSignedIn: auth !== undefined };
  } finally {
    connection.close();
  }

  function signIn(login: Login): Promise<void> {
    return new Promise((resolve, reject) =>
      connection.login(login, (error: Error | null) => (error ? reject(error) : resolve())),
    );
  }
}

interface Login {
  readonly user: string;
  readonly pass: string;
}
