// The settings of an app: its name and address, what is published, who shares it, its secrets, and the trash.
import { useNavigate } from '@tanstack/react-router';
import { CloudOff, Trash2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { type App, useApp } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { DeleteApp } from '../../ui/delete-app.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Field, FieldRow, faultOf, Select } from '../../ui/field.tsx';
import { More } from '../../ui/more.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Panel } from '../../ui/panel.tsx';
import { explain, Problem } from '../../ui/problem.tsx';
import { Screen, Section } from '../../ui/screen.tsx';
import { changeName, findNameFault } from './address.ts';
import { Address } from './publish.tsx';
import { type SharedWith, ShareResult } from './share-result.tsx';

export function SettingsScreen() {
  return (
    <Screen title="Settings">
      <General />
      <PublishedPart />
      <Shares />
      <Secrets />
      <TrashPart />
    </Screen>
  );
}

function General() {
  const app = useApp();
  const update = useChange('updateApp');
  const { error } = update;
  const [slugFault, setSlugFault] = useState<string>();
  const [asked, setAsked] = useState<{ readonly name: string; readonly slug: string }>();
  const oldAddress = app.published?.url;
  const findAddress = (slug: string) => oldAddress && changeName(oldAddress, app.slug, slug);
  const save = async (sent: { readonly name: string; readonly slug: string }) => {
    const ended = await update.perform({ app_id: app.id, ...sent });
    setAsked(undefined);
    // What is wrong with a field is said below it.
    if ('error' in ended && (ended.error.faults.length > 0 || ended.error.code === 'slug_taken')) return;
    const isMoved = oldAddress !== undefined && sent.slug !== app.slug;
    const moved = `Saved. The app is now at ${findAddress(sent.slug)}. The old address no longer works.`;
    sayOutcome(ended, isMoved ? moved : 'Saved.', nothingSaved);
  };
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const sent = { name: String(form.get('name')), slug: String(form.get('slug')).trim() };
    const fault = sent.slug === app.slug ? undefined : findNameFault(sent.slug);
    setSlugFault(fault);
    if (fault !== undefined) return;
    if (oldAddress !== undefined && sent.slug !== app.slug) setAsked(sent);
    else await save(sent);
  };
  const chooseVisibility = async (visibility: typeof app.visibility) =>
    sayOutcome(await update.perform({ app_id: app.id, visibility }), 'Saved.', nothingSaved);
  return (
    <Section title="Name and access">
      <form
        key={app.name + app.slug}
        onSubmit={(event) => void submit(event)}
        className="grid gap-4 middle:grid-cols-2"
      >
        <Field label="Name" name="name" defaultValue={app.name} required fault={faultOf(error, 'name')} />
        <Field
          label="Name in the address"
          name="slug"
          defaultValue={app.slug}
          required
          hint="Lower-case letters, digits and hyphens."
          fault={slugFault ?? (error?.code === 'slug_taken' ? explain(error) : faultOf(error, 'slug'))}
        />
        <div className="middle:col-span-2">
          <Button type="submit" isBusy={update.isSending}>
            Save
          </Button>
        </div>
      </form>
      <div className="grid gap-4 middle:grid-cols-2">
        <Select
          label="Who in the workspace sees this app"
          value={app.visibility}
          disabled={update.isSending}
          options={[
            { value: 'workspace', label: 'All members' },
            { value: 'private', label: 'Its owner, admins, and people it is shared with' },
          ]}
          onChoose={(visibility) => void chooseVisibility(visibility)}
        />
        <WhoMayUse />
      </div>
      <Confirm
        isOpen={asked !== undefined}
        title="Change the address of the app?"
        action="Change the address"
        isBusy={update.isSending}
        onConfirm={() => asked && void save(asked)}
        onClose={() => setAsked(undefined)}
      >
        <p>The old address stops working at once. Whoever uses the app must get the new one from you.</p>
        <dl className="flex flex-col gap-2 break-all">
          <dt className="text-caption">Old address</dt>
          <dd className="text-text">{oldAddress}</dd>
          <dt className="text-caption">New address</dt>
          <dd className="text-text">{asked && findAddress(asked.slug)}</dd>
        </dl>
      </Confirm>
    </Section>
  );
}

const nothingSaved = 'Nothing was saved.';

type Audience = App['public_settings'];

/** From the fewest people to the most. */
const audiences: readonly { readonly value: Audience; readonly label: string; readonly consequence?: string }[] = [
  { value: 'private_with_login', label: 'People it is shared with, after signing in' },
  { value: 'workspace_with_login', label: 'Members of the workspace, after signing in' },
  {
    value: 'public_with_login',
    label: 'Everybody, after signing in',
    consequence:
      'Everybody who has an account in the app, or may create one, can use it. The rules of its data decide what each person sees.',
  },
  {
    value: 'public_without_login',
    label: 'Everybody, without signing in',
    consequence:
      'Everybody who has the address can use the app without an account, and read and change its data as far as the rules let them.',
  },
];

/** Opening a live app to everybody is asked about first. All other choices are saved at once. */
function WhoMayUse() {
  const app = useApp();
  const update = useChange('updateApp');
  const [asked, setAsked] = useState<(typeof audiences)[number]>();
  const save = async ({ value, label }: (typeof audiences)[number]) => {
    const ended = await update.perform({ app_id: app.id, public_settings: value });
    sayOutcome(ended, `Saved. Who may use the app: ${label[0]?.toLowerCase()}${label.slice(1)}.`, nothingSaved);
    setAsked(undefined);
  };
  const rankOf = (value: Audience) => audiences.findIndex((each) => each.value === value);
  const choose = (value: Audience) => {
    const chosen = audiences[rankOf(value)];
    if (chosen === undefined) return;
    const isOpening = chosen.consequence !== undefined && rankOf(value) > rankOf(app.public_settings);
    if (app.published && isOpening) setAsked(chosen);
    else void save(chosen);
  };
  return (
    <>
      <Select
        label="Who may use the app"
        value={app.public_settings}
        disabled={update.isSending}
        options={audiences}
        onChoose={choose}
      />
      <Confirm
        isOpen={asked !== undefined}
        title="Open the app to everybody?"
        action="Open it to everybody"
        isBusy={update.isSending}
        onConfirm={() => asked && void save(asked)}
        onClose={() => setAsked(undefined)}
      >
        <p>The app is published, so this takes effect at once. {asked?.consequence}</p>
      </Confirm>
    </>
  );
}

function PublishedPart() {
  const app = useApp();
  const deployments = usePages('listDeployments', { app_id: app.id, limit: 10 });
  const publish = useChange('publishApp');
  const unpublish = useChange('unpublishApp');
  const [isAsking, setAsking] = useState(false);
  const takeDown = async () => {
    sayOutcome(
      await unpublish.perform({ app_id: app.id }),
      'The app is no longer published.',
      'The app is still published.',
    );
    setAsking(false);
  };
  const makeLive = async ({ id, revision }: Data<'listDeployments'>['items'][number]) =>
    sayOutcome(
      await publish.perform({ app_id: app.id, deployment_id: id }),
      `Revision ${revision} is live again.`,
      'What visitors see has not changed.',
    );
  return (
    <Section
      title="Published"
      hint={app.published ? undefined : 'Nothing is published.'}
      actions={
        app.published && (
          <Button icon={CloudOff} onClick={() => setAsking(true)}>
            Take it down
          </Button>
        )
      }
    >
      {app.published && <Address url={app.published.url} />}
      <Panel read={deployments} lines={2} empty="This app was never published.">
        {(items) => (
          <>
            <ul className="flex flex-col divide-y divide-line">
              {items.map((deployment) => (
                <li key={deployment.id} className="flex flex-wrap items-center justify-between gap-3 py-2">
                  <span className="flex flex-wrap items-center gap-2">
                    <span className="font-medium">Revision {deployment.revision}</span>
                    {deployment.live && <Badge tone="good">live</Badge>}
                    <span className="text-dense text-quiet">
                      <Since time={deployment.deployed_at} /> by {deployment.deployed_by}
                    </span>
                  </span>
                  {!deployment.live && (
                    <Button isBusy={publish.isSending} onClick={() => void makeLive(deployment)}>
                      Make live again
                    </Button>
                  )}
                </li>
              ))}
            </ul>
            <More pages={deployments} />
          </>
        )}
      </Panel>
      <Confirm
        isOpen={isAsking}
        title={`Take “${app.name}” down?`}
        action="Take it down"
        isBusy={unpublish.isSending}
        onConfirm={() => void takeDown()}
        onClose={() => setAsking(false)}
      >
        <p>Its address answers nobody any more. Files, data and users stay, and you can publish it again.</p>
      </Confirm>
    </Section>
  );
}

function Shares() {
  const app = useApp();
  const shares = useOperation('listAppShares', { app_id: app.id });
  const share = useChange('putAppShare');
  const remove = useChange('deleteAppShare');
  const { error } = share;
  const [role, setRole] = useState<'editor' | 'viewer'>('editor');
  const [shared, setShared] = useState<SharedWith>();
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get('email'));
    setShared(undefined);
    const ended = await share.perform({ app_id: app.id, email, role });
    if (!('data' in ended)) return;
    const isMailed = !ended.notes.warnings.some((warning) => warning.startsWith('invitation_mail_'));
    setShared({ email, way: ended.data.status === 'joined' ? 'joined' : isMailed ? 'mailed' : 'not mailed' });
    form.reset();
  };
  return (
    <Section
      title="Sharing"
      id="sharing"
      hint="People with whom you share this app can open it, whatever else they see in the workspace."
    >
      <form onSubmit={(event) => void submit(event)}>
        <FieldRow
          action={
            <Button type="submit" isBusy={share.isSending}>
              Share
            </Button>
          }
        >
          <div className="min-w-0 grow">
            <Field label="E-mail address" name="email" type="email" required fault={faultOf(error, 'email')} />
          </div>
          <Select<'editor' | 'viewer'>
            label="Role"
            value={role}
            options={[
              { value: 'editor', label: 'can change it' },
              { value: 'viewer', label: 'can look at it' },
            ]}
            onChoose={(next) => setRole(next)}
          />
        </FieldRow>
      </form>
      {error && error.faults.length === 0 && <Problem error={error} title="The app was not shared" />}
      {shared && <ShareResult key={shared.email} {...shared} />}
      <Panel read={shares} lines={1} empty="It is shared with nobody yet.">
        {(items) => (
          <ul className="flex flex-col divide-y divide-line">
            {items.map(({ email, role, status }) => (
              <li key={email} className="flex flex-wrap items-center justify-between gap-3 py-2">
                <span className="min-w-0 truncate">{email}</span>
                <span className="flex items-center gap-3 text-dense text-quiet">
                  {role === 'editor' ? 'can change it' : 'can look at it'}
                  {status === 'invited' && <Badge tone="wait">invited</Badge>}
                  <Button
                    kind="quiet"
                    isBusy={remove.isSending}
                    onClick={async () => {
                      if (shared?.email === email) setShared(undefined);
                      sayOutcome(
                        await remove.perform({ app_id: app.id, email }),
                        `No longer shared with ${email}.`,
                        'It is still shared.',
                      );
                    }}
                  >
                    Remove
                  </Button>
                </span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </Section>
  );
}

/** A value leaves the page when it is sent: the field is emptied, and no operation returns it. */
function Secrets() {
  const app = useApp();
  const secrets = usePages('listAppSecrets', { app_id: app.id });
  const put = useChange('putAppSecret');
  const remove = useChange('deleteAppSecret');
  const [asked, setAsked] = useState<string>();
  const { error } = put;
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const sent = new FormData(form);
    const secret_name = String(sent.get('secret_name')).trim();
    const ended = await put.perform({ app_id: app.id, secret_name, value: String(sent.get('value')) });
    put.reset();
    if (!('data' in ended)) return sayOutcome(ended, '', 'The secret was not stored.');
    sayOutcome(ended, `${secret_name} is stored. Its value is not shown again.`, '');
    form.reset();
  };
  const removeAsked = async () => {
    if (asked === undefined) return;
    sayOutcome(
      await remove.perform({ app_id: app.id, secret_name: asked }),
      `${asked} is deleted.`,
      'The secret was not deleted.',
    );
    setAsked(undefined);
  };
  return (
    <Section
      title="Secrets"
      hint="Keys of other services, for the workflows of this app. Pages never see them. Functions in its files are kept, but this installation does not run them."
    >
      <form onSubmit={(event) => void submit(event)}>
        <FieldRow
          action={
            <Button type="submit" isBusy={put.isSending}>
              Store
            </Button>
          }
        >
          <div className="min-w-0 grow basis-0">
            <Field
              label="Name"
              name="secret_name"
              placeholder="API_KEY"
              autoComplete="off"
              required
              fault={faultOf(error, 'secret_name')}
            />
          </div>
          <div className="min-w-0 grow basis-0">
            <Field
              label="Value"
              name="value"
              type="password"
              autoComplete="off"
              required
              fault={faultOf(error, 'value')}
            />
          </div>
        </FieldRow>
      </form>
      <Panel read={secrets} lines={1} empty="No secrets are stored.">
        {(items) => (
          <ul className="flex flex-col divide-y divide-line">
            {items.map(({ name, last4, updated_date }) => (
              <li key={name} className="flex flex-wrap items-center justify-between gap-3 py-2">
                <span className="font-mono text-dense">
                  {name} {last4 && <span className="text-quiet">…{last4}</span>}
                </span>
                <span className="flex items-center gap-3 text-dense text-quiet">
                  <Since time={updated_date} />
                  <Button kind="quiet" onClick={() => setAsked(name)}>
                    Delete
                  </Button>
                </span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Confirm
        isOpen={asked !== undefined}
        title={`Delete ${asked ?? ''}?`}
        action="Delete the secret"
        isBusy={remove.isSending}
        onConfirm={() => void removeAsked()}
        onClose={() => setAsked(undefined)}
      >
        <p>Workflows of the app that use it stop working. The value can't be restored.</p>
      </Confirm>
    </Section>
  );
}

function TrashPart() {
  const app = useApp();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  return (
    <Section
      title="Delete this app"
      hint="It goes to the trash, and its address answers nobody any more. For 30 days you can restore it with everything in it."
      actions={
        <Button kind="danger" icon={Trash2} onClick={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      <DeleteApp
        app={app}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onDeleted={() => void navigate({ to: '/w/$ws', params: { ws: app.workspace_id } })}
      />
    </Section>
  );
}
