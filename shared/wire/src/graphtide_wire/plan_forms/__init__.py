"""Physical plans as JSON: the plans of each family, and what a record of a plan holds."""

from graphtide_wire.plan_forms.form import CandidateForm, PlanForm, form_of, plan_of

__all__ = ["CandidateForm", "PlanForm", "form_of", "plan_of"]
