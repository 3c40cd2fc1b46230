// Owns outgoing mail: SMTP, by the address the operator sets. Whether a mail left is an answer, not an exception.
import { createTransport } from 'nodemailer';

export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  /** False without an SMTP server: links are then shown to whoever asked, or printed by the operator. */
  readonly configured: boolean;
  /** `sent`: the server took it. `failed`: it did not, or could not be reached. `off`: none is set up. */
  send(message: Message): Promise<'sent' | 'failed' | 'off'>;
  close(): void;
}

export function openMail(smtpUrl: string | undefined, from: string, onFailure: (error: unknown) => void): Mail {
  if (smtpUrl === undefined) return { configured: false, send: async () => 'off', close: () => {} };
  const transport = createTransport(smtpUrl, {
    from,
    connectionTimeout: 5_000,
    greetingTimeout: 5_000,
    socketTimeout: 10_000,
  } as object);
  return {
    configured: true,
    async send(message) {
      try {
        await transport.sendMail({ from, ...message });
        return 'sent';
      } catch (error) {
        onFailure(error);
        return 'failed';
      }
    },
    close: () => transport.close(),
  };
}
