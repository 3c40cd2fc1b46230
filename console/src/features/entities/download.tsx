// The button that downloads all records that a table shows, also those that are not on the screen.
import { Download as DownloadIcon, X } from 'lucide-react';
import type { Args, Data } from '../../data/client.ts';
import { useAllPages } from '../../data/use-all-pages.ts';
import type { Item } from '../../data/use-operation.ts';
import { Button } from '../../ui/button.tsx';
import { say } from '../../ui/outcome.tsx';
import { Problem } from '../../ui/problem.tsx';
import { plural } from '../../ui/times.ts';
import { writeHead, writeRows } from './csv.ts';
import type { Row } from './rows.ts';

type Listing = 'listAllRecords' | 'listRecords';

interface DownloadProps<N extends Listing> {
  readonly entity: Data<'listEntitySchemas'>[number];
  /** The operation that lists what the table shows, and with which arguments. */
  readonly listing: N;
  readonly args: Args<N>;
  toRow(item: Item<N>): Row;
}

export function Download<N extends Listing>({ entity: { name, schema }, listing, args, toRow }: DownloadProps<N>) {
  const { progress, error, read, cancel } = useAllPages(listing);
  const download = async () => {
    const parts = [writeHead(schema)];
    let count = 0;
    const isWhole = await read(args, (items) => {
      parts.push(writeRows(schema, items.map(toRow)));
      count += items.length;
    });
    if (!isWhole) return;
    saveFile(`${name}.csv`, new Blob(parts, { type: 'text/csv' }));
    say('good', `${plural(count, 'record', 'records')} downloaded as ${name}.csv.`);
  };
  return (
    <>
      {progress === undefined ? (
        <Button icon={DownloadIcon} onClick={() => void download()}>
          Download as CSV
        </Button>
      ) : (
        <span className="flex items-center gap-2">
          <span role="status">{plural(progress, 'record', 'records')} read…</span>
          <Button icon={X} onClick={cancel}>
            Cancel the download
          </Button>
        </span>
      )}
      {error && (
        <div className="basis-full">
          <Problem error={error} title="The records were not downloaded" onAgain={() => void download()} />
        </div>
      )}
    </>
  );
}

/** Hands a file to the browser, which asks where to put it or puts it among the downloads. */
function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
