// Owns outgoing mail over SMTP. Whether a mail was sent is a result, not an exception.
import { createTransport } from 'nodemailer';

export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mail {
  /** False without an SMTP server. Links are then shown to the caller, or printed by an operator's command. */
  readonly configured: boolean;
  /** `sent`: the server accepted it. `failed`: it did not, or could not be reached. `off`: no server is configured. */
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
