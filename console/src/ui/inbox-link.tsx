// Stands wherever the console says that a mail was sent: while a stand-in keeps all mails, nobody finds them elsewhere.
import { ExternalLink } from 'lucide-react';
import { useOperation } from '../data/use-operation.ts';

export function InboxLink() {
  const inbox = useOperation('serverInfo', {}).data?.mail_inbox_url;
  if (!inbox) return null;
  return (
    <p className="text-dense text-quiet">
      No mail leaves this installation: the sandbox keeps them all.{' '}
      <a
        href={inbox}
        target="_blank"
        rel="noreferrer"
        className="target inline-flex items-center gap-1 text-link underline"
      >
        Open the inbox
        <ExternalLink size={16} aria-hidden />
      </a>
    </p>
  );
}
