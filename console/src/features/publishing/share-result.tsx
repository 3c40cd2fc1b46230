// What has become of sharing an app with a person, and what to send them.
import { Link2 } from 'lucide-react';
import { useApp } from '../../data/app-context.ts';
import { useChange } from '../../data/use-change.ts';
import { ToneIcon, toneClass } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { InboxLink } from '../../ui/inbox-link.tsx';
import { Problem } from '../../ui/problem.tsx';

export interface SharedWith {
  readonly email: string;
  /** Whether the person is a member already, or was invited with or without a mail. */
  readonly way: 'joined' | 'mailed' | 'not mailed';
}

const results = {
  joined: 'They get no mail, so send them this:',
  mailed: 'They get a mail with an invitation, unless they have one already. You can also send them this:',
  'not mailed': 'No mail could be sent to them, so they do not know of it yet.',
} as const;

export function ShareResult({ email, way }: SharedWith) {
  const app = useApp();
  const renew = useChange('resendInvitation');
  const link = renew.ending && 'data' in renew.ending ? renew.ending.data.resent[0]?.accept_url : undefined;
  const text = describeWayIn(app.name, `${location.origin}/editor/${app.id}/preview`, { email, way }, link);
  return (
    <div
      role="status"
      className={classNames('flex flex-col gap-3 rounded-medium p-4', toneClass(text === undefined ? 'wait' : 'good'))}
    >
      <p className="flex gap-2">
        <ToneIcon tone={text === undefined ? 'wait' : 'good'} />
        <span className="min-w-0 break-words">
          <strong className="font-semibold">Shared with {email}.</strong>{' '}
          {link ? 'No mail was sent, so send them this link yourself. It works for 60 days:' : results[way]}
        </span>
      </p>
      {text !== undefined && (
        <>
          <p className="rounded-medium bg-raised p-3 break-words whitespace-pre-line text-text">{text}</p>
          <span>
            <CopyButton text={text} label="Copy the text" />
          </span>
        </>
      )}
      {text === undefined && (
        <span>
          <Button icon={Link2} isBusy={renew.isSending} onClick={() => void renew.perform({ emails: [email] })}>
            Create a link to send them
          </Button>
        </span>
      )}
      {renew.error && <Problem error={renew.error} title="No link was created" />}
      {way === 'mailed' && <InboxLink />}
    </div>
  );
}

/** Undefined if the person could not get in with it. */
function describeWayIn(
  name: string,
  address: string,
  { email, way }: SharedWith,
  link: string | null | undefined,
): string | undefined {
  const shared = `I have shared the app “${name}” with you.`;
  if (link) return `${shared}\nOpen this link and accept the invitation: ${link}`;
  if (way === 'not mailed') return undefined;
  const first = way === 'mailed' ? 'Open the link in the mail that you get, and accept the invitation. ' : '';
  return `${shared}\n${first}You find the app at ${address} when you are signed in as ${email}.`;
}
