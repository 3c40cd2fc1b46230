// The person's own tokens: credentials of programs, each valid in one workspace.
import { type SubmitEvent, useState } from 'react';
import { WorkspaceContext } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { useOperation } from '../../data/use-operation.ts';
import { Since } from '../../ui/age.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Field, faultOf, Select } from '../../ui/field.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Section } from '../../ui/screen.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';

export interface Membership {
  readonly id: string;
  readonly name: string;
}

export function Tokens({ workspaces }: { readonly workspaces: readonly Membership[] }) {
  const [chosen, setChosen] = useState(workspaces[0]?.id ?? '');
  return (
    <Section
      title="Tokens"
      hint="A program that uses the API needs a token. It acts in your name, in one workspace, and you can revoke it at any time."
    >
      {workspaces.length > 1 && (
        <div className="max-w-form">
          <Select
            label="Workspace"
            value={chosen}
            options={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
            onChoose={setChosen}
          />
        </div>
      )}
      <WorkspaceContext value={chosen}>
        <NewToken key={chosen} />
        <TokenList />
      </WorkspaceContext>
    </Section>
  );
}

type Permission = 'read_only' | 'full_access';
type Period = '30' | '90' | '365' | 'never';

const permissions = [
  { value: 'read_only', label: 'may read' },
  { value: 'full_access', label: 'may do all that you may' },
] as const;

const periods = [
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: 'never', label: 'never' },
] as const;

function NewToken() {
  const create = useChange('createToken');
  const [permission, setPermission] = useState<Permission>('read_only');
  const [period, setPeriod] = useState<Period>('90');
  // Kept here alone, so the token leaves the page with the dialog.
  const [secret, setSecret] = useState<string | null>();
  const { error } = create;
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const ended = await create.perform({
      name: String(new FormData(form).get('name')),
      permission,
      expires_in_days: period === 'never' ? null : Number(period),
    });
    if (!('data' in ended)) return;
    setSecret(ended.data.token);
    create.reset();
    form.reset();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3">
      {error && error.faults.length === 0 && <Problem error={error} title="The token was not created" />}
      <div className="grid items-end gap-3 middle:grid-cols-3">
        <Field
          label="Name of the token"
          name="name"
          placeholder="build server"
          required
          fault={faultOf(error, 'name')}
        />
        <Select<Permission>
          label="What it may do"
          value={permission}
          options={permissions}
          onChoose={(next) => setPermission(next)}
        />
        <Select<Period> label="It expires" value={period} options={periods} onChoose={(next) => setPeriod(next)} />
      </div>
      <div>
        <Button type="submit" isBusy={create.isSending}>
          Create a token
        </Button>
      </div>
      <SecretOnce title="Your new token" secret={secret} onDone={() => setSecret(undefined)} />
    </form>
  );
}

function TokenList() {
  const tokens = useOperation('listTokens', {});
  const revoke = useChange('revokeToken');
  const [asked, setAsked] = useState<{ readonly id: string; readonly name: string }>();
  const revokeAsked = async () => {
    if (asked === undefined) return;
    const ended = await revoke.perform({ token_id: asked.id });
    sayOutcome(ended, `“${asked.name}” is revoked.`, 'The token was not revoked.');
    setAsked(undefined);
  };
  return (
    <>
      <Panel read={tokens} lines={2} empty="You have no tokens in this workspace.">
        {(items) => (
          <ul className="flex flex-col divide-y divide-line">
            {items.map((token) => (
              <li key={token.id} className="flex flex-wrap items-center justify-between gap-3 py-2">
                <span className="flex min-w-0 flex-col">
                  <span className="truncate">
                    {token.name} <span className="font-mono text-dense text-quiet">…{token.last4}</span>
                  </span>
                  <span className="text-dense text-quiet">
                    {token.last_used_at === null ? (
                      'never used'
                    ) : (
                      <>
                        used <Since time={token.last_used_at} />
                      </>
                    )}
                    {token.expires_at !== null && (
                      <>
                        , expires <Since time={token.expires_at} />
                      </>
                    )}
                  </span>
                </span>
                <span className="flex items-center gap-3">
                  <Badge>{token.permission === 'read_only' ? 'may read' : 'full access'}</Badge>
                  <Button kind="quiet" onClick={() => setAsked(token)}>
                    Revoke
                  </Button>
                </span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Confirm
        isOpen={asked !== undefined}
        title={`Revoke “${asked?.name ?? ''}”?`}
        action="Revoke the token"
        isBusy={revoke.isSending}
        onConfirm={() => void revokeAsked()}
        onClose={() => setAsked(undefined)}
      >
        <p>Programs that use it are refused at once. A revoked token can't be restored.</p>
      </Confirm>
    </>
  );
}
