import { useState } from 'preact/hooks'
import type { Column } from '../components/data-table.tsx'
import { Field, Form, TextField } from '../components/fields.tsx'
import { FilteredTable } from '../components/filtered-table.tsx'
import { Problem } from '../components/problem.tsx'
import { RefreshButton, ViewHeader } from '../components/view-header.tsx'
import { parseAclLine } from '../model/acl-rules.ts'
import type { AclUser } from '../model/acl-rules.ts'
import { splitWords } from '../model/commands.ts'
import { bytesOf, listOf, textOf } from '../model/reply.ts'
import { useAction, useResource } from '../model/resource.ts'
import { go, route } from '../model/route.ts'
import { useSession } from '../model/session.ts'
import { UserEditor } from './user-editor.tsx'
import { announceOutcome } from '../model/messages.ts'

const KIND_TEXTS: Readonly<Record<AclUser['kind'], string>> = {
  user: 'user',
  role: 'role for tokens',
  ceiling: 'ceiling of a token user',
}

const COLUMNS: readonly Column<AclUser>[] = [
  {
    key: 'name',
    title: 'Name',
    width: 'minmax(8rem, 1fr)',
    narrow: true,
    value: (user) => user.name,
    cell: (user) => <b title={user.name}>{user.name}</b>,
  },
  {
    key: 'kind',
    title: 'Kind',
    width: '11rem',
    value: (user) => user.kind,
    cell: (user) => KIND_TEXTS[user.kind],
  },
  {
    key: 'enabled',
    title: 'State',
    width: '4.5rem',
    narrow: true,
    value: (user) => Number(user.enabled),
    cell: (user) => (user.enabled ? 'on' : <span class="quiet">off</span>),
  },
  {
    key: 'rules',
    title: 'Rules',
    width: 'minmax(0, 2.5fr)',
    cell: (user) => <code>{rulesWithoutPasswords(user)}</code>,
  },
]

/** Users, roles for tokens, and ceilings: all of them are ACL users. */
export function UsersView() {
  const session = useSession()
  const resource = useResource(async (source) =>
    listOf(await session.send(['ACL', 'LIST'], source)).map((line) => parseAclLine(bytesOf(line))),
  )
  const all = resource.value ?? []
  const { parameters } = route.value
  const name = parameters.get('name')
  const edited = all.find((user) => user.name === name)

  const save = (): Promise<void> =>
    announceOutcome(async () => {
      await session.send(['ACL', 'SAVE'])
      return 'ACL file written'
    })
  return (
    <>
      <ViewHeader
        title="Users and roles"
        commands={[
          'ACL LIST',
          'RESPCAST CHECK rule ...',
          'ACL SETUSER name reset rule ...',
          'ACL DELUSER name',
          'ACL DRYRUN name command',
        ]}
      >
        <RefreshButton loading={resource.loading} onClick={resource.refresh} />
        <button type="button" onClick={() => void save()}>
          Save to file
        </button>
        <button type="button" class="primary" onClick={() => go('users', { new: '' })}>
          New
        </button>
      </ViewHeader>
      <FilteredTable
        resource={resource}
        filterLabel="Filter by name or rule"
        textsOf={(user) => [user.name, user.kind, ...user.rules]}
        label="Users and roles"
        columns={COLUMNS}
        rowKey={(user) => user.name}
        initialSorting={{ key: 'name', descending: false }}
        empty="No user."
        onOpen={(user) => go('users', { name: user.name })}
      />
      <DryRunBox names={all.map((user) => user.name)} />
      {(edited || parameters.has('new')) && (
        <UserEditor
          key={name}
          user={edited}
          onSaved={resource.refresh}
          onClose={() => go('users')}
        />
      )}
    </>
  )
}

function rulesWithoutPasswords({ rules }: AclUser): string {
  return rules.filter((rule) => !/^(on|off|sanitize-payload|#[0-9a-f]{64})$/.test(rule)).join(' ')
}

/** Asks whether a user may run a command, without running it. */
function DryRunBox({ names }: { readonly names: readonly string[] }) {
  const session = useSession()
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [answer, setAnswer] = useState('')
  const { error, run } = useAction()
  const ask = (): void => {
    setAnswer('')
    void run(async () => {
      setAnswer(textOf(await session.send(['ACL', 'DRYRUN', name, ...splitWords(text)])))
    })
  }
  return (
    <section class="card">
      <h2>May a user run a command?</h2>
      <Form class="fields" onSubmit={ask}>
        <Field label="User">
          <input
            list="user-names"
            value={name}
            required
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <datalist id="user-names">
            {names.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </Field>
        <TextField
          label="Command"
          wide
          required
          placeholder="subscribe news"
          value={text}
          onInput={setText}
        />
        <button type="submit">Dry run</button>
      </Form>
      <p role="status" data-testid="dry-run">
        {answer !== '' && <span class={answer === 'OK' ? 'good' : 'bad'}>{answer}</span>}
      </p>
      <Problem error={error} />
    </section>
  )
}
