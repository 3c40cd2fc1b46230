// Publishing the present revision: before, what happens; after, what the server says, its warnings in its own words.
import { Link } from '@tanstack/react-router';
import { ExternalLink, Rocket } from 'lucide-react';
import { useState } from 'react';
import type { App } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation } from '../../data/use-operation.ts';
import { ToneIcon, toneClass } from '../../ui/badge.tsx';
import { Button, buttonClass } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { formatNumber } from '../../ui/times.ts';
import { isOnlyHere } from './address.ts';

export function PublishButton({ app }: { readonly app: App }) {
  const [isOpen, setOpen] = useState(false);
  const publish = useChange('publishApp');
  const files = useOperation('listAppFiles', { app_id: app.id, limit: 1 }, { when: isOpen });
  const isEmpty = files.data?.items.length === 0;
  const isLive = app.published?.revision === app.revision;
  const close = () => {
    setOpen(false);
    publish.reset();
  };
  const { ending } = publish;
  const done = ending && 'data' in ending ? ending.data : undefined;
  const isUpToDate = done !== undefined || isLive;
  const address = done?.url ?? app.published?.url;
  return (
    <>
      <Button kind={isLive || app.revision === 1 ? 'plain' : 'primary'} icon={Rocket} onClick={() => setOpen(true)}>
        {isLive ? 'Published' : 'Publish'}
      </Button>
      <Dialog
        isOpen={isOpen}
        title={isUpToDate ? `Revision ${done?.revision ?? app.revision} is live` : `Publish “${app.name}”`}
        onClose={close}
      >
        {publish.error && (
          <Problem
            error={publish.error}
            title={ending?.kind === 'unknown' ? 'Not known' : 'The app was not published'}
          />
        )}
        {address !== undefined && <Address url={address} />}
        {done ? (
          <Done app={app} deployed={done} onLeave={close} />
        ) : isEmpty ? (
          <p>
            This app has no files, so there is nothing to publish. Say in the chat what it should do. When the assistant
            has saved a revision, publish it here.
          </p>
        ) : (
          <Before app={app} onLeave={close} />
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>{isUpToDate || isEmpty ? 'Close' : 'Cancel'}</Button>
          {isUpToDate && address !== undefined ? (
            <>
              <CopyButton text={address} label="Copy address" />
              <OpenLink url={address} />
            </>
          ) : (
            <Button
              kind="primary"
              icon={Rocket}
              isBusy={publish.isSending}
              disabled={files.data === undefined && files.error === null}
              reason={isEmpty ? 'The app has no files yet.' : undefined}
              onClick={() => void publish.perform({ app_id: app.id })}
            >
              Publish revision {app.revision}
            </Button>
          )}
        </div>
      </Dialog>
    </>
  );
}

const audiences = {
  private_with_login: 'Only people with whom the app is shared can use its data, after signing in.',
  workspace_with_login: 'Members of the workspace can use its data, after signing in.',
  public_with_login:
    'Everybody with an account in the app can use it. The rules of its data decide what each person sees.',
  public_without_login: 'Everybody can use its data, even without signing in, as far as the rules let them.',
} as const;

interface PartProps {
  readonly app: App;
  /** Closes the dialog, because a link in it was followed. */
  onLeave(): void;
}

function Before({ app, onLeave }: PartProps) {
  return (
    <div className="flex flex-col gap-3">
      {app.published === null ? (
        <>
          <p>
            Nothing of this app is published yet. Revision {app.revision} gets an address
            {isOnlyHere(location.href) ? '.' : ' that everybody can open.'}
          </p>
          <OnlyHere address={location.href} />
        </>
      ) : app.published.revision === app.revision ? (
        <p>Visitors see the newest revision. There is nothing new to publish.</p>
      ) : (
        <p>
          Visitors see revision {app.published.revision} now. They will see revision {app.revision} instead, at the same
          address.
        </p>
      )}
      <p className="text-quiet">{audiences[app.public_settings]}</p>
      <SignUpNote app={app} onLeave={onLeave} />
    </div>
  );
}

function Done({ app, deployed, onLeave }: PartProps & { readonly deployed: Data<'publishApp'> }) {
  const { added, changed, removed } = deployed.changes;
  const counts = [
    added > 0 && `${formatNumber(added)} added`,
    changed > 0 && `${formatNumber(changed)} changed`,
    removed > 0 && `${formatNumber(removed)} removed`,
  ].filter((count) => count !== false);
  return (
    <div className="flex flex-col gap-3">
      <p>
        {counts.length === 0 ? 'No file differs from those that were live before.' : `Files: ${counts.join(', ')}.`}
      </p>
      <SignUpNote app={app} onLeave={onLeave} />
      {deployed.warnings.length > 0 && (
        <ul className="flex flex-col gap-2">
          {deployed.warnings.map((warning) => (
            <li
              key={warning.code + warning.path}
              className={classNames('flex gap-2 rounded-medium p-3', toneClass('wait'))}
            >
              <ToneIcon tone="wait" />
              <span className="min-w-0">
                {warning.message}
                {warning.path && <span className="block font-mono text-caption">{warning.path}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const signUps = {
  closed: 'Nobody can create an account in it yet.',
  invited: 'Only people whom you add can create an account in it.',
  open: 'Everybody can create an account in it.',
} as const;

/** Who may sign up is decided apart from publishing, and without an account nobody gets far. */
function SignUpNote({ app, onLeave }: PartProps) {
  const settings = useOperation('getAppAuthSettings', { app_id: app.id });
  if (settings.data === undefined) return null;
  const { sign_up_in_effect } = settings.data;
  return (
    <p className={sign_up_in_effect === 'closed' ? classNames('rounded-medium p-3', toneClass('wait')) : 'text-quiet'}>
      {signUps[sign_up_in_effect]}{' '}
      <Link to="/editor/$app/users" params={{ app: app.id }} onClick={onLeave} className="text-link underline">
        Change it under Users
      </Link>
    </p>
  );
}

export const Address = ({ url }: { readonly url: string }) => (
  <div className="flex flex-col gap-2">
    <p className="rounded-medium bg-sunken px-3 py-2 break-all">
      <a href={url} target="_blank" rel="noreferrer" className="text-link underline">
        {url}
      </a>
    </p>
    <OnlyHere address={url} />
  </div>
);

/** Stands below an address that nobody else can open. Apps are on the same computer as the console. */
function OnlyHere({ address }: { readonly address: string }) {
  if (!isOnlyHere(address)) return null;
  return (
    <div>
      <p className="font-medium">Only this computer can open it.</p>
      <details className="text-quiet">
        <summary className="target inline-flex items-center underline">How to let others open it</summary>
        <span className="block pt-1">
          Whoever operates the installation puts it on a server, and gives its apps a domain with these two settings in
          the file .env. The documentation says how, in docs/operate/install.md under “A domain for published apps”.
        </span>
        <code className="block pt-2 font-mono text-dense whitespace-pre-line">
          {'BASE_URL=https://plinth.example.com\nAPPS_DOMAIN=example-apps.com'}
        </code>
      </details>
    </div>
  );
}

const OpenLink = ({ url }: { readonly url: string }) => (
  <a href={url} target="_blank" rel="noreferrer" className={buttonClass('primary')}>
    <ExternalLink size={16} aria-hidden className="shrink-0" />
    Open the app
  </a>
);
