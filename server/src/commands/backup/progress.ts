// One line that says how far a long command is, on the error output, from the third second on.
export interface Progress {
  /** Says what is done from now on. `measure` returns how far it is, such as `12 of 80`. */
  begin(what: string, measure?: () => string | Promise<string>): void;
  end(): void;
}

const everyMs = 2_000;
/** A log that is not a terminal gets a line a minute. */
const linesApart = 30;

export function showProgress(): Progress {
  const { isTTY } = process.stderr;
  let [step, shown, ticks] = ['', false, 0];
  let read: () => string | Promise<string> = () => '';
  const show = async () => {
    ticks += 1;
    if (!isTTY && ticks % linesApart !== 1) return;
    const measured = await read();
    const text = `${step}${measured && `: ${measured}`}`;
    shown = true;
    process.stderr.write(isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  };
  const timer = setInterval(() => void show().catch(() => {}), everyMs);
  timer.unref();
  return {
    begin(what, measure = () => '') {
      step = what;
      read = measure;
    },
    end() {
      clearInterval(timer);
      if (isTTY && shown) process.stderr.write('\r\x1b[K');
    },
  };
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** `1234567` is `1.2 MB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}
