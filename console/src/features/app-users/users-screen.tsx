// The people who use an app, and who may become one of them.
import { Ellipsis, KeyRound, Trash2, UserPlus } from 'lucide-react';
import { useState } from 'react';
import { useApp } from '../../data/app-context.ts';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation, usePages } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Field, faultOf } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { More } from '../../ui/more.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Panel, Remark } from '../../ui/panel.tsx';
import { Screen, Section } from '../../ui/screen.tsx';
import { HowTheySignIn } from './how-they-sign-in.tsx';
import type { Person } from './way-in.ts';

type AppUser = Data<'listAppUsers'>['items'][number];

const nameOf = ({ full_name, email }: AppUser): string => full_name || email;

export function UsersScreen() {
  const app = useApp();
  const users = usePages('listAppUsers', { app_id: app.id, limit: 50 });
  const [isAdding, setAdding] = useState(false);
  const [person, setPerson] = useState<Person>();
  const [asked, setAsked] = useState<AppUser>();
  return (
    <Screen
      title="Users"
      actions={
        <Button icon={UserPlus} onClick={() => setAdding(true)}>
          Add a person
        </Button>
      }
    >
      <SignUp />
      <Panel read={users} lines={5} empty="Nobody has an account in this app yet.">
        {(items) => (
          <>
            <ul className="flex flex-col divide-y divide-line rounded-large border border-line bg-card shadow-card">
              {items.map((user) => (
                <li key={user.id} className="flex items-center gap-3 px-4 py-3">
                  <span className="flex min-w-0 grow flex-col gap-x-3 gap-y-1 middle:flex-row middle:items-center middle:justify-between">
                    <span className="flex min-w-0 flex-col">
                      <span className="truncate font-medium">{nameOf(user)}</span>
                      {user.full_name && <span className="truncate text-dense text-quiet">{user.email}</span>}
                    </span>
                    <span className="flex shrink-0 items-center gap-3 text-dense text-quiet">
                      {user.role === 'admin' && <Badge>admin</Badge>}
                      <span>
                        added <Since time={user.created_date} />
                      </span>
                    </span>
                  </span>
                  <Menu name={`What to do with ${nameOf(user)}`} label={<Ellipsis size={16} aria-hidden />} align="end">
                    <MenuItem icon={KeyRound} onSelect={() => setPerson({ email: user.email, isNew: false })}>
                      How they sign in
                    </MenuItem>
                    <MenuItem icon={Trash2} isDangerous onSelect={() => setAsked(user)}>
                      Remove from the app
                    </MenuItem>
                  </Menu>
                </li>
              ))}
            </ul>
            <More pages={users} />
          </>
        )}
      </Panel>
      <AddPerson
        isOpen={isAdding}
        onAdded={(email) => setPerson({ email, isNew: true })}
        onClose={() => setAdding(false)}
      />
      <HowTheySignIn person={person} onClose={() => setPerson(undefined)} />
      <RemovePerson user={asked} onClose={() => setAsked(undefined)} />
    </Screen>
  );
}

const choices = [
  { value: 'closed', label: 'Nobody', hint: 'Nobody can create an account.' },
  { value: 'invited', label: 'People you add', hint: 'Only people whom you have added here.' },
  { value: 'open', label: 'Everybody', hint: 'Everybody with an e-mail address.' },
] as const;

type Choice = (typeof choices)[number];

/** Letting everybody in is asked about first. All other choices are saved at once. */
function SignUp() {
  const app = useApp();
  const settings = useOperation('getAppAuthSettings', { app_id: app.id });
  const change = useChange('setAppAuthSettings');
  const [isAsking, setAsking] = useState(false);
  const save = async ({ value, label }: Choice) => {
    sayOutcome(
      await change.perform({ app_id: app.id, sign_up: value }),
      `Saved. Who may create an account: ${label.toLowerCase()}.`,
      'The setting was not changed.',
    );
    setAsking(false);
  };
  const choose = (choice: Choice) =>
    choice.value === 'open' && settings.data?.sign_up !== 'open' ? setAsking(true) : void save(choice);
  return (
    <Section title="Who may create an account">
      <Panel read={settings} lines={2}>
        {({ sign_up, sign_up_in_effect }) => (
          <div className="flex flex-col gap-3">
            <div role="group" aria-label="Who may create an account" className="grid gap-2 middle:grid-cols-3">
              {choices.map((choice) => (
                <button
                  key={choice.value}
                  type="button"
                  aria-pressed={sign_up === choice.value}
                  disabled={change.isSending}
                  onClick={() => choose(choice)}
                  className={
                    sign_up === choice.value
                      ? 'flex flex-col rounded-medium border border-accent bg-active p-3 text-left text-on-active'
                      : 'flex flex-col rounded-medium border border-line bg-raised p-3 text-left transition-colors hover:bg-hover'
                  }
                >
                  <span className="font-medium">{choice.label}</span>
                  <span className="text-dense">{choice.hint}</span>
                </button>
              ))}
            </div>
            {sign_up !== sign_up_in_effect && (
              <Remark>
                In effect at present: {choices.find(({ value }) => value === sign_up_in_effect)?.label.toLowerCase()}.
                Either the app is not open to everybody, or this installation can't send the mail that confirms an
                address.
              </Remark>
            )}
          </div>
        )}
      </Panel>
      <Confirm
        isOpen={isAsking}
        title="Let everybody create an account?"
        action="Let everybody sign up"
        isBusy={change.isSending}
        onConfirm={() => void save(choices[2])}
        onClose={() => setAsking(false)}
      >
        <p>
          Whoever has the address of the app can create an account in it, and then sees and changes its data as far as
          the rules let them.{app.published ? ' The app is published, so this takes effect at once.' : ''}
        </p>
      </Confirm>
    </Section>
  );
}

interface AddPersonProps {
  readonly isOpen: boolean;
  onAdded(email: string): void;
  onClose(): void;
}

function AddPerson({ isOpen, onAdded, onClose }: AddPersonProps) {
  const app = useApp();
  const create = useChange('createAppUser');
  return (
    <FormDialog
      isOpen={isOpen}
      title="Add a person"
      change={create}
      action="Add"
      refused="The person was not added"
      toArgs={(entered) => ({
        app_id: app.id,
        email: String(entered.get('email')),
        full_name: String(entered.get('full_name')),
      })}
      onDone={(_, { email }) => onAdded(email)}
      onClose={onClose}
    >
      <p className="text-quiet">They get no mail. Once they are added, you see what to tell them.</p>
      <Field label="E-mail address" name="email" type="email" required fault={faultOf(create.error, 'email')} />
      <Field label="Name" name="full_name" hint="May be left empty." fault={faultOf(create.error, 'full_name')} />
    </FormDialog>
  );
}

function RemovePerson({ user, onClose }: { readonly user: AppUser | undefined; onClose(): void }) {
  const app = useApp();
  const settings = useOperation('getAppAuthSettings', { app_id: app.id }, { when: user !== undefined });
  const remove = useChange('deleteAppUser');
  const name = user ? nameOf(user) : '';
  const removeUser = async () => {
    if (user === undefined) return;
    const ended = await remove.perform({ app_id: app.id, user_id: user.id });
    sayOutcome(ended, `${name} is removed from the app.`, `${name} was not removed.`);
    onClose();
  };
  return (
    <Confirm
      isOpen={user !== undefined}
      title={`Remove ${name} from the app?`}
      action="Remove"
      isBusy={remove.isSending}
      onConfirm={() => void removeUser()}
      onClose={onClose}
    >
      <p>They are signed out at once, and their password is gone. What they have entered in the app stays.</p>
      {settings.data?.sign_up_in_effect === 'open' && (
        <p>Everybody may create an account in this app at present, so they can come back with a new one.</p>
      )}
    </Confirm>
  );
}
