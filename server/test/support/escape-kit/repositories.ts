// Repositories that make git run a program, as a hostile agent could leave them in the clone. `then` uses git as the
// product might. The program leaves a mark outside the sandbox, and in `/state`, which exists only in the scripts of
// coding sessions. The paths are written into the program, because our git does not have the attempt's variables. Git
// refers to the program relative to the clone, which has a different path in the sandbox.
import type { Attempt } from './attempt.ts';

const payload = `touch '$OUTSIDE/owned'; cat '$SECRET_FILE'; if [ -d /state ]; then touch /state/owned; fi`;
const git = 'git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false';
/** Includes all git commands that the product runs on a clone. */
const everything = `git config --global --add safe.directory '*' 2>/dev/null; echo changed >>file
git status; git diff; git add -A; git diff --cached; ${git} commit -qm change; git log -p -1`;

const repository = (name: string, lines: string, then = everything, isObeyed = true): Attempt => ({
  name,
  script: `git init -q . && echo text >file && git add file && ${git} commit -qm first
cat >payload.sh <<END
#!/bin/sh
(${payload}) >&2
cat 2>/dev/null
exit 0
END
grep -v cat.2 payload.sh >program.sh
chmod 755 payload.sh program.sh
P=./payload.sh Q=./program.sh
${lines}`,
  then,
  ...(isObeyed ? { succeedsOutside: true as const } : {}),
});

export const repositories: readonly Attempt[] = [
  repository(
    'has hooks',
    'for h in pre-commit post-commit post-checkout pre-push reference-transaction post-index-change; do cp payload.sh .git/hooks/$h; done',
  ),
  repository('names a folder of hooks', 'mkdir h; cp payload.sh h/pre-commit; git config core.hooksPath h'),
  repository('names a file system monitor', 'git config core.fsmonitor "$P"'),
  repository(
    'filters what is added',
    'git config filter.x.clean "$P"; git config filter.x.smudge "$P"; echo "* filter=x" >.gitattributes',
  ),
  repository(
    'filters by a process',
    'git config filter.x.process "$P"; git config filter.x.required true; echo "* filter=x" >.gitattributes',
  ),
  repository('compares by a program', 'git config diff.external "$P"'),
  repository('compares by a program for some files', 'git config diff.x.command "$P"; echo "* diff=x" >.gitattributes'),
  repository('makes text of files by a program', 'git config diff.x.textconv "$P"; echo "* diff=x" >.gitattributes'),
  repository('shows by a pager', 'git config core.pager "$P"; git config pager.log "$P"', 'git -p log', false),
  repository(
    'signs by a program',
    'git config gpg.program "$Q"; git config commit.gpgsign true',
    `git -c user.name=a -c user.email=a@b commit --allow-empty -qm x`,
  ),
  repository(
    'includes another file of settings',
    'printf "[core]\\n\\tfsmonitor = $P\\n" >settings; git config include.path ../settings',
  ),
  repository(
    'has settings of its work tree',
    'git config extensions.worktreeConfig true; printf "[core]\\n\\tfsmonitor = $P\\n" >.git/config.worktree',
  ),
  repository('connects by a program', 'git config core.sshCommand "$Q"', 'git ls-remote ssh://canary@127.0.0.1/x'),
  repository(
    'replaces addresses',
    `git config protocol.ext.allow always; git config "url.ext::$Q %S.insteadOf" https://`,
    'git ls-remote https://127.0.0.1/x',
  ),
  repository(
    'asks a program for the password',
    'git config credential.helper "!$Q"',
    'printf "protocol=https\\nhost=canary\\n" | GIT_TERMINAL_PROMPT=0 git credential fill',
  ),
  repository('has another name for a command', 'git config alias.st "!$Q"', 'git st'),
  repository(
    'has a submodule at an address that is a command',
    `printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ext::%s\\n' "$Q" >.gitmodules; git config submodule.s.url "ext::$Q"; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s; mkdir -p s`,
    'git -c protocol.ext.allow=always submodule update --init',
  ),
  repository(
    'has a repository inside with a monitor',
    'git init -q inner; cp file inner; git -C inner add file; ' +
      `${git.replace('git', 'git -C inner')} commit -qm x; git -C inner config core.fsmonitor ".$P"; git add inner; ${git} commit -qm y; echo z >>inner/file`,
    'git status; git diff',
  ),
  repository(
    'is a link to another repository',
    'mv .git real; git --git-dir=real config core.fsmonitor "$P"; git --git-dir=real config core.bare false; echo "gitdir: real" >.git',
  ),
  repository(
    'looks like a bare repository',
    'mkdir bare; git init -q --bare bare/r; git --git-dir=bare/r config core.fsmonitor "$P"; git --git-dir=bare/r config core.bare false; git --git-dir=bare/r config core.worktree "$PWD"',
    'cd bare/r && git status',
  ),
  repository(
    'borrows objects from elsewhere',
    'echo "$OUTSIDE" >.git/objects/info/alternates; ln -sf "$SECRET_FILE" .git/description',
    everything,
    false,
  ),
  repository(
    'has settings in the home folder',
    'export HOME=$PWD; git config --global core.fsmonitor "$P"',
    'HOME=$PWD git status',
  ),
  repository(
    'has a template for new repositories',
    'mkdir -p t/hooks; cp payload.sh t/hooks/post-checkout; git config --file ./tconfig init.templateDir "$PWD/t"',
    'GIT_CONFIG_GLOBAL=$PWD/tconfig git clone -q . ../tmp-clone || GIT_CONFIG_GLOBAL=$PWD/tconfig git clone -q . /tmp/tmp-clone',
    false,
  ),
  repository(
    'sets variables of git',
    'printf "export GIT_EXTERNAL_DIFF=$P GIT_SSH_COMMAND=$Q GIT_PAGER=$P\\n" >.env',
    '. ./.env; git diff HEAD; echo more >>file; git diff',
  ),
];
