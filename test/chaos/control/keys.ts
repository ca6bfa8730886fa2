import { controlNames } from '../../../server/control/names.ts'

/** The namespace of the gateways, and its keys. */
export const NAMESPACE = 'default'
export const KEYS = controlNames(NAMESPACE)
