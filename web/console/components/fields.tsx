import type { ComponentChildren } from 'preact'

/** A form that the page handles itself. */
export function Form(props: {
  readonly class: string
  readonly onSubmit: () => void
  readonly children: ComponentChildren
}) {
  return (
    <form
      class={props.class}
      onSubmit={(event) => {
        event.preventDefault()
        props.onSubmit()
      }}
    >
      {props.children}
    </form>
  )
}

/** A control under its label. */
export function Field(props: {
  readonly label: string
  readonly wide?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <label class={props.wide ? 'field wide' : 'field'}>
      <span>{props.label}</span>
      {props.children}
    </label>
  )
}

/** A field of one line for names: the browser neither corrects nor remembers them. */
export function TextField(props: {
  readonly label: string
  readonly value: string
  readonly wide?: boolean
  readonly required?: boolean
  readonly placeholder?: string
  readonly onInput: (value: string) => void
}) {
  return (
    <Field label={props.label} wide={props.wide ?? false}>
      <input
        value={props.value}
        required={props.required ?? false}
        placeholder={props.placeholder ?? ''}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </Field>
  )
}

/** A choice from a list. */
export function SelectField<Value extends string>(props: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, label: string])[]
  readonly onChange: (value: NoInfer<Value>) => void
}) {
  return (
    <Field label={props.label}>
      <select
        // Without it, screen readers would read the label with all options.
        aria-label={props.label}
        value={props.value}
        onChange={(event) => {
          const chosen = props.options[event.currentTarget.selectedIndex]
          if (chosen) props.onChange(chosen[0])
        }}
      >
        {props.options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  )
}

/** A choice between a few options, as a row of buttons. */
export function Choice<Value extends string>(props: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, label: string])[]
  readonly onChange: (value: NoInfer<Value>) => void
}) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </div>
  )
}
