// What a person who was added must be told, because no mail tells them.
import { useApp } from '../../data/app-context.ts';
import { useOperation } from '../../data/use-operation.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { InboxLink } from '../../ui/inbox-link.tsx';
import { Panel, Remark } from '../../ui/panel.tsx';
import { findWayIn, type Person, type WayIn } from './way-in.ts';

export function HowTheySignIn({ person, onClose }: { readonly person: Person | undefined; onClose(): void }) {
  const app = useApp();
  const when = person !== undefined;
  const settings = useOperation('getAppAuthSettings', { app_id: app.id }, { when });
  const info = useOperation('serverInfo', {}, { when });
  const hasMail = info.data?.features.mail !== false;
  return (
    <Dialog
      isOpen={when}
      title={person?.isNew ? `${person.email} is added` : `How ${person?.email} signs in`}
      onClose={onClose}
    >
      {person && (
        <Panel read={settings} lines={2}>
          {(known) => (
            <>
              {person.isNew && <p className="pb-3">No mail was sent to them. Tell them yourself how they get in.</p>}
              <Advice key={person.email} {...findWayIn(app, person, known, hasMail)} />
            </>
          )}
        </Panel>
      )}
      <div className="flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Advice(way: WayIn) {
  if ('obstacle' in way) return <Remark>{way.obstacle}</Remark>;
  return (
    <div className="flex flex-col items-start gap-3">
      <p className="w-full rounded-medium bg-sunken p-3 whitespace-pre-line">{way.text}</p>
      <CopyButton text={way.text} label="Copy the text" />
      <InboxLink />
    </div>
  );
}
