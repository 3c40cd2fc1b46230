// Rules that the assistant proposed and that would open data. They take effect only if a person agrees.
import { ShieldAlert } from 'lucide-react';
import type { Data } from '../../data/client.ts';
import { useChange } from '../../data/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { sayOutcome } from '../../ui/outcome.tsx';
import { describeOpening } from '../../ui/rule-words.ts';

type HeldRule = Data<'getChat'>['held_rules'][number];

export function HeldRules({ app_id, rules }: { readonly app_id: string; readonly rules: readonly HeldRule[] }) {
  return rules.map((rule) => <Held key={rule.id} app_id={app_id} rule={rule} />);
}

function Held({ app_id, rule }: { readonly app_id: string; readonly rule: HeldRule }) {
  const answer = useChange('answerHeldRules');
  const decide = async (apply: boolean) => {
    const ended = await answer.perform({ app_id, held_id: rule.id, apply });
    sayOutcome(ended, apply ? 'The rule is in effect.' : 'The proposal was dropped.', 'Nothing was changed.');
  };
  return (
    <section
      aria-label="A decision about your data"
      className="flex flex-col gap-3 rounded-medium bg-wait p-3 text-on-wait"
    >
      <p className="flex gap-2 font-medium">
        <ShieldAlert size={16} aria-hidden className="mt-px shrink-0" />
        {describeHeld(rule)}
      </p>
      <p className="text-dense">It is not in effect. Nothing opens until you decide.</p>
      <details>
        <summary className="target text-dense underline">The rule before and after</summary>
        <pre className="overflow-x-auto text-caption">
          {`before  ${JSON.stringify(rule.before)}\nafter   ${JSON.stringify(rule.after)}`}
        </pre>
      </details>
      <div className="flex flex-wrap gap-2">
        <Button isBusy={answer.isSending} onClick={() => void decide(true)}>
          Let it take effect
        </Button>
        <Button isBusy={answer.isSending} onClick={() => void decide(false)}>
          Drop it
        </Button>
      </div>
    </section>
  );
}

/** Example: "The assistant wants to let everybody who has an account in the app read “Task”." */
function describeHeld({ operation, ...rule }: HeldRule): string {
  if (operation === 'sign_up') return 'The assistant wants to let everybody create an account in this app.';
  return `The assistant wants to let ${describeOpening({ ...rule, operation })}.`;
}
