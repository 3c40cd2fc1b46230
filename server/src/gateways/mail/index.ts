// Owns outgoing mail over SMTP. Whether a mail was sent is a result, not an exception.
import type { Transporter } from 'nodemailer';

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
  let transport: Promise<Transporter> | undefined;
  const openTransport = async () => {
    const { createTransport } = await import('nodemailer'); // much to load for the processes that send none
    const timeouts = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
    return createTransport(smtpUrl, { from, ...timeouts } as object);
  };
  return {
    configured: true,
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
    close: () => void transport?.then((open) => open.close()),
  };
}
