// Copies a text, and says so on the button.
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button } from './button.tsx';
import { say } from './outcome.tsx';

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      // Browsers have no clipboard for pages that are neither on this machine nor under https.
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      say('bad', 'The browser did not let this page copy. Select the text and copy it yourself.');
    }
  };
  return (
    <Button icon={isCopied ? Check : Copy} onClick={() => void copy()}>
      {isCopied ? 'Copied' : label}
    </Button>
  );
}
