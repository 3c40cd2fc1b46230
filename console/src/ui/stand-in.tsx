// What people are told if a stand-in for a language model answers: what it can play, and what becomes of other requests.
import { Undo2 } from 'lucide-react';
import { useDraft } from '../data/prefs.ts';
import { useOperation } from '../data/use-operation.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Remark } from './panel.tsx';

/** The requests that the stand-in can play: first the app, then changes of it. Empty with a real model. */
export const useStandInRequests = (): readonly string[] => useOperation('serverInfo', {}).data?.stand_in_requests ?? [];

const normalize = (text: string): string => text.trim().replace(/[.!]$/, '').toLowerCase();

export const isSameRequest = (one: string, other: string): boolean => normalize(one) === normalize(other);

interface ReplaceableDraft {
  readonly text: string;
  /** Puts back what `replace` replaced. Undefined if that is nothing. */
  readonly putBack: (() => void) | undefined;
  setText(text: string): void;
  replace(request: string): void;
  clear(): void;
}

/** A draft that a request of the stand-in can replace. What the person typed is kept until something is sent. */
export function useReplaceableDraft(name: string): ReplaceableDraft {
  const [text, setText] = useDraft(name);
  const [replaced, setReplaced] = useDraft(`${name}.replaced`);
  const set = (next: string, kept: string) => {
    setText(next);
    setReplaced(kept);
  };
  return {
    text,
    putBack: replaced === '' ? undefined : () => set(replaced, ''),
    setText,
    replace: (request) => set(request, text),
    clear: () => set('', ''),
  };
}

/** Stands where the warning stood, after a request was chosen from it. */
export const PutBack = ({ putBack }: { putBack(): void }) => (
  <Button icon={Undo2} onClick={putBack}>
    Back to what you wrote
  </Button>
);

interface WarningProps {
  /** What can be played now. */
  readonly playable: readonly string[];
  /** What becomes of another request. */
  readonly otherwise: string;
  onChoose(request: string): void;
}

/** Stands beside a request that the stand-in can't play, before it is sent. */
export const StandInWarning = ({ playable, otherwise, onChoose }: WarningProps) => (
  <Remark>
    <div role="status" className="flex flex-col items-start gap-2">
      <p>
        <strong className="font-semibold">No language model is connected.</strong> A stand-in answers here, and it can
        play recorded requests only. {otherwise}
      </p>
      {playable.map((request) => (
        <Button key={request} onClick={() => onChoose(request)}>
          Use “{request}” instead
        </Button>
      ))}
      <ConnectModel />
    </div>
  </Remark>
);

const modelSettings = [
  'MODEL_URL=https://api.openai.com/v1',
  'MODEL_API_KEY=paste your key here',
  'MODEL_NAME=the name of a model',
].join('\n');

/** How whoever operates the installation connects a model. It is a setting of the server, which no browser can change. */
export const ConnectModel = () => (
  <details>
    <summary className="target inline-flex items-center underline">How to connect a language model</summary>
    <ol className="flex list-decimal flex-col gap-3 pt-1 pl-6 text-left">
      <li>
        Get a key from a provider of language models. Any will do that offers OpenAI’s protocol for chat completions,
        also a program on your own computer.
      </li>
      <li>
        Put these lines into the file .env in the folder of the installation, with the address, the key and the model of
        your provider:
        <code className="my-2 block rounded-medium bg-sunken p-3 font-mono text-dense break-all whitespace-pre-line text-text">
          {modelSettings}
        </code>
        <CopyButton text={modelSettings} label="Copy the lines" />
      </li>
      <li>
        Stop Plinth and start it again (in the terminal of npm run dev: Ctrl+C, and npm run dev), and load this page
        again. The stand-in is gone then, and you can ask for any app in your own words. Your apps, their data and their
        users stay as they are.
      </li>
    </ol>
    <span className="block pt-3 text-left">
      To find out whether the model is good enough, run{' '}
      <code className="font-mono">npm run -s plinth -- doctor --model</code> in that folder.
    </span>
  </details>
);
