// Going back to an earlier revision: first its effect, then what it opens, and only then the button that does it.
import { useNavigate } from '@tanstack/react-router';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation } from '../../data/use-operation.ts';
import { ToneIcon, toneClass } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Loading } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import { describeOpening } from '../../ui/rule-words.ts';
import { plural } from '../../ui/times.ts';
import { isNothing, listRestoredData, listRestoredFiles } from './revision.ts';
import { describeEntityChange } from './schema-words.ts';

type Effect = Data<'restoreRevision'>;

export function RestoreButton({ revision }: { readonly revision: number }) {
  const app = useApp();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [mayOpen, setMayOpen] = useState(false);
  const tried = useChange('restoreRevision');
  const restored = useChange('restoreRevision');
  const effect = tried.ending && 'data' in tried.ending ? tried.ending.data : undefined;
  const args = { app_id: app.id, revision: String(revision) };
  const look = () => {
    restored.reset();
    setMayOpen(false);
    void tried.perform({ ...args, dry_run: true });
  };
  const restore = async ({ revision: expected_revision, impact }: Effect) => {
    const opens = impact.newly_open.map(({ entity, operation }) => ({ entity, operation }));
    const ended = await restored.perform({ ...args, expected_revision, ...(opens.length > 0 && { opens }) });
    if (!('data' in ended)) return;
    setOpen(false);
    const look = () => void navigate({ to: '/editor/$app/preview', params: { app: app.id } });
    sayOutcome(
      ended,
      `The app is as it was in revision ${revision}. That is revision ${ended.data.revision} now.`,
      '',
      { label: 'Look at it', run: look },
    );
    await navigate({ to: '/editor/$app/revisions/$rev', params: { app: app.id, rev: String(ended.data.revision) } });
  };
  const opened = effect?.impact.newly_open ?? [];
  const isSame = effect !== undefined && isNothing(effect.changes);
  return (
    <>
      <Button
        icon={RotateCcw}
        onClick={() => {
          setOpen(true);
          look();
        }}
      >
        Restore
      </Button>
      <Dialog isOpen={isOpen} title={`Go back to revision ${revision}?`} onClose={() => setOpen(false)}>
        {tried.isSending && <Loading lines={3} />}
        {tried.error && <Problem error={tried.error} title="What would change could not be read" onAgain={look} />}
        {restored.error && <Problem error={restored.error} title="Nothing was restored" onAgain={look} />}
        {effect && <EffectView effect={effect} revision={revision} />}
        {opened.length > 0 && (
          <label className={classNames('flex gap-3 rounded-medium p-3', toneClass('wait'))}>
            <input
              type="checkbox"
              checked={mayOpen}
              onChange={({ target }) => setMayOpen(target.checked)}
              className="mt-px size-icon shrink-0 accent-current"
            />
            <span className="flex flex-col gap-1">
              <span className="font-medium">I agree that this opens data. It lets</span>
              {opened.map((opening) => (
                <span key={opening.entity + opening.operation + opening.principal}>{describeOpening(opening)}</span>
              ))}
            </span>
          </label>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => setOpen(false)}>{isSame ? 'Close' : 'Cancel'}</Button>
          {effect && !isSame && (
            <Button
              kind="primary"
              icon={RotateCcw}
              isBusy={restored.isSending}
              reason={opened.length > 0 && !mayOpen ? 'First agree to what it opens.' : undefined}
              onClick={() => void restore(effect)}
            >
              Restore revision {revision}
            </Button>
          )}
        </div>
      </Dialog>
    </>
  );
}

/** What happens to the data comes first, because there something may be lost. The files are counted, and folded. */
function EffectView({ effect, revision }: { readonly effect: Effect; readonly revision: number }) {
  const app = useApp();
  const { changes } = effect;
  const { kept_entities } = effect.impact;
  const against = Number(effect.revision);
  const compared = useOperation('getRevision', { app_id: app.id, revision: String(revision), against });
  if (isNothing(changes)) return <p>Nothing differs from the current revision, so there is nothing to restore.</p>;
  if (compared.data === undefined && compared.error === null) return <Loading lines={3} />;
  const files = listRestoredFiles(changes);
  const inWords = compared.data?.entity_changes
    ?.filter(({ name, after }) => after !== null || !kept_entities.includes(name))
    .flatMap(describeEntityChange);
  const data = inWords ?? listRestoredData(changes);
  return (
    <div className="flex flex-col gap-3">
      {data.length > 0 && (
        <section aria-labelledby="restored-data" className="flex flex-col gap-1">
          <h3 id="restored-data" className="font-semibold">
            What changes in the data
          </h3>
          <ul className="flex max-h-list list-disc flex-col gap-1 overflow-y-auto pl-4">
            {data.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      )}
      {files.length > 0 && (
        <details>
          <summary className="target inline-flex items-center underline">
            {plural(files.length, 'file changes', 'files change')}
          </summary>
          <ul className="flex max-h-list flex-col gap-1 overflow-y-auto rounded-medium border border-line bg-card p-3">
            {files.map(({ name, word }) => (
              <li key={name} className="flex items-baseline justify-between gap-3">
                <span className="min-w-0 truncate font-mono text-dense">{name}</span>
                <span className="shrink-0 text-dense text-quiet">{word}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {changes.headers && <p>The security headers of its pages become as they were.</p>}
      {kept_entities.length > 0 && (
        <p className="flex gap-2">
          <ToneIcon tone="neutral" />
          {kept_entities.map((name) => `“${name}”`).join(', ')} did not exist then. It stays, because it is in use.
        </p>
      )}
      <p className="text-quiet">
        It becomes a new revision, and no earlier one is lost. Records, users, secrets and settings stay as they are.
        What is published changes only when you publish it.
      </p>
    </div>
  );
}
