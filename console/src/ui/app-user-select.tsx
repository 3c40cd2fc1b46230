// The choice of a user of the app, as whom something is looked at, or of nobody.
import { useApp } from '../data/app-context.ts';
import { usePages } from '../data/use-operation.ts';
import { Select } from './field.tsx';

interface AppUserSelectProps {
  readonly label: string;
  /** What it is called if no user is chosen. */
  readonly nobody: string;
  readonly user: string | undefined;
  readonly isCompact?: boolean;
  /** What choosing a person means, such as "What Ann Archer sees". By default it is the name. */
  readonly describe?: (name: string) => string;
  onChoose(user: string | undefined): void;
}

export function AppUserSelect({ label, nobody, user, isCompact = false, describe, onChoose }: AppUserSelectProps) {
  const app = useApp();
  const describeUser = describe ?? ((name) => name);
  const users = usePages('listAppUsers', { app_id: app.id, limit: 100 });
  const options = (users.data ?? []).map(({ id, email, full_name }) => ({
    value: id,
    label: describeUser(full_name && !isCompact ? `${full_name} (${email})` : full_name || email),
  }));
  return (
    <Select
      isCompact={isCompact}
      label={label}
      value={user ?? ''}
      options={[{ value: '', label: nobody }, ...options]}
      onChoose={(chosen) => onChoose(chosen === '' ? undefined : chosen)}
    />
  );
}
