"""Public formats of providers' tokens: a literal prefix and its tail, or a shape that contains a literal.

The tables are facts from the documentation of providers and from public rule sets; `tokens` searches for them. A tail
that is a plain sequence of counted classes and literals needs no automaton of its own.
"""

from __future__ import annotations

# Possible starts of a word: in a fragment of JSON it may follow an escape like `\n`, in a terminal a colour code.
EDGE = r"(?:\b|\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m)"
N, U, H, X = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[a-f0-9]", "[a-fA-F0-9]"
B64, Z, A, C = "[A-Za-z0-9+/]", "[A-Za-z0-9_=-]", "[a-z0-9]", "[A-Z0-9]"
UUID = f"{X}{{8}}-{X}{{4}}-{X}{{4}}-{X}{{4}}-{X}{{12}}"
SEGMENT = rf"{U}{{8,}}"

Rows = tuple[tuple[str, str], ...]

# Unique prefixes, and the tail of each.
PREFIXED: Rows = (
    ("AKIA ASIA ABIA ACCA", rf"{C}{{16}}\b"), ("A3T", rf"{C}{{17}}\b"),
    ("FwoGZXIvYXdz IQoJb3JpZ2luX2Vj FQoGZXIvYXdz", r"[A-Za-z0-9+/=%]{80,}"),
    ("amzn1.oa2-cs.v1.", rf"{H}{{64}}"), ("Atza| Atzr|", rf"{Z}{{80,}}"), ("da2-", rf"{A}{{26}}\b"),
    ("LTAI AKLT", rf"{N}{{12,}}"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", rf"{N}{{30,}}"),
    ("github_pat_", r"[A-Za-z0-9_]{22,}"),
    ("glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- GR1348941",
     rf"{U}{{20,}}\.[a-z0-9.]{{7,14}}|{U}{{20,}}"),
    ("_gitlab_session=", rf"{A}{{32}}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xwfp- xoxe.xoxb- xoxe.xoxp-", r"[A-Za-z0-9-]{10,}"),
    ("xapp-", r"[A-Za-z0-9-]{30,}"),
    ("xoxc- xoxd-", r"[A-Za-z0-9%+/_-]{20,}={0,2}"),
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ sk_org_live_ sk_org_test_", rf"{N}{{10,}}"),
    ("whsec_", r"[A-Za-z0-9+/=]{20,}"),
    ("AIza", rf"{U}{{35}}"), ("ya29.", rf"{U}{{20,}}"), ("GOCSPX-", rf"{U}{{28}}"), ("1//0", rf"{U}{{40,}}"),
    ("GOOG1E", rf"{C}{{50,}}"), ("APA91b", rf"{U}{{100,}}"), ("AQ.Ab8RN6", rf"{U}{{40,}}"),
    ("npm_", rf"{N}{{36}}"), ("pypi-", rf"{U}{{50,}}"), ("rubygems_", rf"{H}{{48}}"), ("CLOJARS_", rf"{N}{{60}}"),

    ("packagist_uut_ packagist_ack_ packagist_out_", rf"{H}{{60,}}"), ("ovsxat_ ovsxp_", UUID),
    ("hf_ api_org_", rf"{N}{{30,}}"),
    ("dop_v1_ doo_v1_ dor_v1_", rf"{H}{{64}}"),
    ("SG.", r"[A-Za-z0-9_=.-]{60,}"),
    ("shpat_ shpca_ shppa_ shpss_ shptka_", rf"{X}{{32}}"),
    ("dapi", rf"{H}{{32}}-[0-9]\b|{H}{{32}}\b"), ("dbtc_ dbtu_", rf"{U}{{30,}}"),
    ("hvs. hvb. hvr.", rf"{U}{{20,}}"), ("b.AAAAAQ", rf"{U}{{60,}}"), ("at_", rf"{N}{{10}}_{N}{{40,}}"),
    ("lin_api_ lin_oauth_ lin_wh_", rf"{N}{{32,}}"),
    ("ATATT3 ATCTT3", rf"{Z}{{40,}}"), ("ATBB", rf"{Z}{{28,}}"), ("ATTA", rf"{X}{{64,}}"),
    ("BBDC-", r"[A-Za-z0-9+/@_-]{40,50}"),
    ("AGE-SECRET-KEY-1", rf"{C}{{58}}"), ("nsec1", rf"{A}{{58}}"), ("xprv", rf"{N}{{107}}"),
    ("dckr_pat_ dckr_oat_", rf"{U}{{20,}}"), ("SWMTKN-1-", rf"{A}{{40,}}-{A}{{20,}}"),
    ("SWMKEY-1-", rf"{B64}{{40,}}"),
    ("gsk_ nvapi- pplx- xai- tvly- esecret_ pcsk_ tgp_v1_", rf"{U}{{30,}}"),
    ("r8_ figd_", rf"{U}{{30,}}"), ("ntn_", rf"{N}{{40,}}"), ("jina_", rf"{N}{{60}}"), ("e2b_", rf"{H}{{40}}"),
    ("PMAK-", rf"{X}{{24}}-{X}{{34}}"), ("PMAT-", rf"{C}{{26}}\b"),
    ("NRAK- NRII- NRRA- NRIQ- NRSP-", rf"{U}{{20,}}"), ("NRJS-", rf"{H}{{19}}\b"),
    ("sntrys_ sntryu_ sntrya_ sntryi_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("eyJrIjoi", r"[A-Za-z0-9+/]{60,}={0,3}"),
    ("pul-", rf"{H}{{40}}"),
    ("pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_=.-]{30,}"),
    ("tskey-", rf"[a-z]{{2,}}-{U}{{20,}}"),
    ("nfp_ nfo_ nfb_ nfu_ nfc_", rf"{N}{{36,}}"), ("sbp_", rf"{H}{{40}}"), ("sb_secret_", rf"{U}{{20,}}"),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9._-]{40,}"),
    ("sq0atp- sq0csp- sq0idp- sq0csb-", rf"{U}{{22,}}"), ("EAA", rf"{N}{{100,}}"), ("EAACEdEose0cBA", rf"{N}{{20,}}"),
    ("bkua_", rf"{H}{{40}}"), ("bkaj_", rf"{U}{{40,}}"),
    ("HRKU-", rf"{U}{{36,}}"),
    ("fm1_ fm1a_ fm1r_ fm2_ fo1_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("CCIPAT_ CCIPRJ_", r"[A-Za-z0-9_]{61,}"), ("CCDB1_", rf"{N}{{20,}}_{N}{{30,}}"),
    ("AKCp", rf"{N}{{60,}}"), ("cmVmd", rf"{N}{{59}}"),
    ("squ_ sqp_ sqa_", rf"{H}{{40}}"),
    ("sk.eyJ tk.eyJ p.eyJ", rf"{U}{{20,}}\.{U}{{20,}}"), ("eyJ0eXAiOiAiVENWMiJ9.", rf"{U}{{30,}}\.{U}{{40,}}"),
    ("access_token$production$ access_token$sandbox$", rf"{A}{{16}}\${H}{{32}}"),
    ("EZAK EZTK", rf"{N}{{54}}"),
    ("lsv2_pt_ lsv2_sk_", rf"{H}{{32}}_{H}{{10}}"), ("ls__", rf"{H}{{32}}\b"),
    ("phx_ phs_", rf"{U}{{40,}}"),
    ("ops_eyJ", r"[A-Za-z0-9+/_=-]{100,}"), ("ABSK", r"[A-Za-z0-9+/=]{100,}"),
    ("bedrock-api-key-", r"[A-Za-z0-9+/=]{80,}"),
    ("xkeysib- xsmtpsib-", rf"{H}{{64}}-{N}{{16}}"),
    ("napi_", rf"{N}{{50,}}"), ("hawk.", rf"{U}{{20}}\.{U}{{20}}"), ("aio_", rf"{N}{{28}}\b"),
    ("p8e-", r"[A-Za-z0-9-]{32}"), ("BBFF-", rf"{N}{{30,}}"),
    ("A3-", rf"{C}{{6}}-{C}{{11}}-{C}{{5}}-{C}{{5}}-{C}{{5}}|{C}{{6}}-{C}{{6}}-{C}{{5}}-{C}{{5}}-{C}{{5}}-{C}{{5}}"),
    ("AIK_CI_ AIK_RUNTIME_ AIK_SECRET_", rf"{N}{{20,}}"), ("amzn.mws.", UUID),
    ("apify_api_", rf"{N}{{30,}}"), ("xaat- xapt- sdk- waka_", UUID),
    ("mdb_sa_sk_ wandb_v1_", rf"{U}{{30,}}"),
    ("gcntfy-", rf"[a-z0-9-]{{1,40}}{UUID}-{UUID}"),
    ("v1.0-", rf"{H}{{24}}-{H}{{146}}"), ("cfut_ cfat_ cfast_ cfk_", rf"{N}{{40,}}"),
    ("CFPAT-", rf"{U}{{40,}}"), ("duffel_test_ duffel_live_", rf"{Z}{{40,}}"),
    ("configcat-sdk-1/", rf"{U}{{22}}/{U}{{22}}"), ("apk_user_ apk_", rf"{B64}{{80,}}={{0,2}}"),
    ("cog_", r"[a-z2-7]{52}\b"), ("essu_", rf"{Z}{{60,}}"),
    ("dt0c01. dt0s01. dt0s02. dt0s03. dt0s06. dt0s08. dt0s09. dt0s16.", rf"{N}{{8,}}\.{N}{{60,}}"),
    ("FLWSECK_TEST- FLWSECK-", rf"{N}{{12,}}"),
    ("pat. sat.", rf"{U}{{22}}\.{N}{{24}}\.{N}{{20}}"),
    ("hcaik_ hcamk_ hcxik_ hcxmk_ hcaic_ hcbik_", rf"{A}{{40,}}"),
    ("pat-na1- pat-eu1- pat-na2- pat-ap1-", UUID),
    ("s-s4t2ud- s-s4t2af-", rf"{X}{{64}}"), ("ion_", rf"{N}{{40,}}"),
    ("sk-lf- pk-lf-secret-", UUID),
    ("pylf_v1_us_ pylf_v1_eu_", rf"{N}{{40,}}"), ("mlsn.", rf"{H}{{60,}}"),
    ("mka_", rf"{N}{{40,}}"),
    ("SSWS", rf"[ ]00{U}{{40}}"),
    ("api_live. api_live_us. api_live_eu. api_live_ca. api_sandbox. api_sandbox_us. api_sandbox_eu. api_sandbox_ca.",
     rf"{U}{{8,}}\.{U}{{30,}}"),
    ("sha256~", rf"{U}{{43}}"),
    ("pdl_live_apikey_ pdl_sdbx_apikey_ pdl_ntfset_", r"[A-Za-z0-9_]{40,}"),
    ("persona_production_ persona_sandbox_", UUID),
    ("access-sandbox- access-development- access-production-", UUID),
    ("polar_oat_ polar_pat_ polar_whs_", rf"{N}{{30,}}"), ("pnu_ pnb_", rf"{N}{{36}}\b"), ("ramp_sec_", rf"{N}{{40,}}"),
    ("rdme_", rf"{A}{{70}}"), ("rpa_", rf"{N}{{40,}}"), ("rootly_", rf"{H}{{64}}"),
    ("salad_cloud_user_", rf"{N}{{30,}}"), ("samsara_api_", rf"{N}{{30}}"),
    ("SCW", rf"{C}{{17}}\b"), ("tk-us- tk-eu-", rf"{U}{{40,}}"),
    ("sgp_", rf"{X}{{40}}\b|{N}{{60,}}|{X}{{16}}_{X}{{40}}\b|local_{X}{{40}}\b"),
    ("sgd_ slk_", rf"{X}{{64}}"),
    ("shippo_live_ shippo_test_", rf"{X}{{40}}"), ("snyk_uat. snyk_sat.", rf"{X}{{8}}\.{U}{{40,}}"),
    ("secret-live- secret-test-", rf"{U}{{40,}}=?"),
    ("testsk_ livesk_", rf"{U}{{30,}}"), ("ucat_", rf"{N}{{24,}}"),
    ("vercel_blob_rw_", rf"{N}{{16}}_{N}{{20,}}"), ("vcp_ vci_ vca_ vcr_ vck_", rf"{U}{{50,}}"),
    ("wrkatok-", rf"{H}{{8}}-{N}{{60,}}"),
    ("t1.", rf"{Z}{{20,}}\.{Z}{{86,}}"), ("AQVN", rf"{U}{{35,}}"),
    ("dict.1.1. pdct.1.1. trnsl.1.1.", rf"[0-9]{{8}}T[0-9]{{6}}Z\.{H}{{16}}\.{H}{{40}}"),
    ("zpka_", rf"{A}{{32}}_{A}{{8}}"), ("zpcs_", rf"{U}{{40,}}"),
    ("AQE", rf"{B64}{{60,}}={{0,2}}\.{N}{{10,}}\.{N}{{10,}}|{B64}{{60,}}={{0,2}}\.{N}{{10,}}"),
    ("AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,}"), ("dG9rO", rf"{B64}{{50,}}=?"),
    ("1000.", rf"{H}{{32}}\.{H}{{32}}"), ("mfa.", rf"{U}{{84}}"), ("signkey-prod- signkey-test-", rf"{H}{{32,}}"),
    ("ory_at_ ory_rt_ ory_ac_ ory_pat_ ory_wak_", rf"{U}{{30,}}"), ("syt_", rf"{Z}{{2,}}_[A-Za-z]{{20}}_{N}{{6}}\b"),
    ("nyk_v0_", rf"{N}{{60,}}"), ("os_v2_app_ os_v2_org_", rf"{A}{{90,}}"),
    ("xnd_production_ xnd_development_", rf"{N}{{30,}}"), ("Mid-server-", rf"{U}{{20,}}"),
    ("ROBUX-and-items.|_", rf"{N}{{100,}}"),
    ("eyJ", rf"{SEGMENT}\.eyJ{SEGMENT}\.{U}*|{U}{{16,}}\.{SEGMENT}\.{SEGMENT}\.{SEGMENT}\.{SEGMENT}"),
)  # fmt: skip
# Prefixes that names may have, too: the tail must have letters and digits, as random text does and names rarely.
CHANCY: Rows = (
    ("sk-", rf"{U}{{20,}}"), ("csk-", rf"{U}{{30,}}"), ("sl. sl.u.", rf"{U}{{100,}}"), ("u+", rf"{U}{{18}}\b"),
    ("npg_", rf"{N}{{10,}}"), ("na1.", rf"{N}{{80,}}"), ("pts_", rf"{A}{{32}}\b"),
    ("ddp_ ddo_ ddw_", rf"{N}{{36}}\b"),
    ("EAAA", rf"{U}{{22,}}"), ("glc_ glsa_", r"[A-Za-z0-9_=+/]{32,}"), ("tfp_", r"[A-Za-z0-9_=.-]{50,}"),
    ("ico- ics_", rf"{U}{{32,}}"), ("dnkey-", rf"{U}{{70,}}"), ("fio-u-", rf"{Z}{{60,}}"),
    ("y0_ y1_ y2_ y3_", rf"{U}{{50,}}"), ("pina_", rf"{C}{{32,}}"),
    ("tss_", rf"{N}{{40,}}"), ("cnvca bit_pat_", rf"{U}{{30,}}"), ("endr+", rf"{U}{{16}}"),
    ("secret-token:", r"[A-Za-z0-9_.~%-]{16,}"), ("oauth:", rf"{A}{{30}}\b"),
    ("django-insecure-", r"[A-Za-z0-9!@#$%^&*(_=+)-]{40,}"),
)  # fmt: skip
# The same for short tails, in which random text often has no digit: letters of both cases are enough.
CASED: Rows = (
    ("AVNS_", rf"{U}{{16,}}"), ("vtwn_", rf"{N}{{24,}}"), ("unkey_", rf"{N}{{20,}}"),
    ("tr_prod_ tr_dev_ tr_stg_ tr_pat_", rf"{N}{{20,}}"), ("sm_aat_ sm_pat_ sm_sat_", rf"{N}{{16}}\b"),
)  # fmt: skip
# Prefixes that are frequent in any text: searched for only in long words, with letters and digits in the tail …
SHORT: Rows = (
    ("re_", rf"{N}{{8}}_{N}{{24}}\b"), ("cio", rf"{N}{{32}}\b"), ("oy2", rf"{A}{{43}}\b"), ("fc-", rf"{H}{{32}}\b"),
    ("secret_ secret-", rf"{N}{{43}}\b"), ("pk_", rf"{H}{{34}}\b|[0-9]{{6,10}}_{N}{{32}}\b"),
    ("sk_", rf"{H}{{48}}\b|{UUID}"), ("key_", rf"{H}{{64}}"),
    ("key-", rf"{H}{{32}}\b"), ("api_", rf"{N}{{22}}\.{N}{{22}}"), ("api-", UUID),
    ("live_", rf"[0-9]{{6,12}}_{N}{{30}}\b|{H}{{35}}\b"), ("test_", rf"{H}{{35}}\b"), ("s.", rf"{N}{{24}}\b"),
    ("SK", rf"{X}{{32}}\b"), ("4b1d", rf"{N}{{38}}\b"), ("rnd_", rf"{N}{{28,}}\b"), ("NF-", rf"{N}{{32}}\b"),
    ("API-", rf"{C}{{26}}\b"), ("ak- as- fw_", rf"{N}{{22,24}}\b"), ("md-", rf"{U}{{22}}"), ("pa-", rf"{U}{{43}}"),
    ("b_", rf"{Z}{{44}}"), ("db-", rf"{N}{{29}}\b"), ("ey", rf"{U}{{17,}}\.ey{U}{{17,}}\.{U}*"),
    ("sc_ ext_ scauth_ authress_",
     rf"{N}{{5,30}}\.{N}{{4,6}}\.acc[_-][A-Za-z0-9-]{{10,32}}\.[A-Za-z0-9+/_=-]{{30,120}}"),
    ("KEY", rf"[0-9A-F]{{32,33}}_{N}{{22}}\b"), ("EXO", rf"{N}{{24,30}}\b"), ("STS.", rf"{N}{{20,}}\b"),
    ("sec-c-", r"[A-Za-z0-9=]{40,}"), ("st.", rf"{H}{{24}}\.{H}{{32}}\.{H}{{32}}"),
    ("PRD- SBX-", rf"{H}{{12}}-{H}{{8}}-{H}{{4}}-{H}{{4}}-{H}{{4}}\b"), ("token-", rf"{A}{{5}}:{A}{{54}}\b"),
)  # fmt: skip
# … and with letters of both cases, too.
VARIED: Rows = (
    ("live_ sandbox_", rf"{U}{{40}}\b"), ("BSA", rf"{U}{{24,40}}"), ("YC", rf"{U}{{36,38}}\b"),
    ("00", r"[A-Za-z0-9_=-]{40}\b"), ("sess-", rf"{N}{{40}}\b"),
)  # fmt: skip
# URLs whose only credential is the part after this prefix.
HOOKS: Rows = (
    ("hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", r"[A-Za-z0-9/_@+-]{20,}"),
    ("discord.com/api/webhooks/ discordapp.com/api/webhooks/ .webhook.office.com/", r"[A-Za-z0-9/_@+-]{20,}"),
    ("hooks.zapier.com/hooks/catch/", r"[A-Za-z0-9/_-]{10,}"), (".make.com/", rf"{A}{{30,}}"),
    ("/with/key/ open-apis/bot/v2/hook/", rf"{U}{{20,}}"),
)  # fmt: skip
# Formats without a prefix: literals, one of which the token contains, and the pattern.
SHAPES: Rows = (
    (".atlasv1.", rf"{EDGE}{N}{{14}}\.atlasv1\.{Z}{{60,}}"), ("-us", rf"{EDGE}[0-9a-f]{{32}}-us[0-9]{{1,2}}\b"),
    (":AA", rf"{EDGE}[0-9]{{8,10}}:AA{U}{{33}}"), ("_mmk", rf"{EDGE}{N}{{6}}_{N}{{29}}_mmk\b"),
    ("NRAL", rf"{EDGE}[0-9a-f]{{36}}FFFFNRAL\b"), ("AZDO", rf"{EDGE}{N}{{76}}AZDO{N}{{4}}\b"),
    ("AzSe", rf"{EDGE}{N}{{42}}AzSe{N}{{6}}\b"), ("pat", rf"{EDGE}pat{N}{{14}}\.[a-f0-9]{{64}}"),
    (":", rf"{EDGE}[0-9](?:/[0-9]{{16}}){{1,2}}:[0-9a-f]{{32}}\b"),
    ("| %7C", rf"{EDGE}[0-9]{{15,16}}(?:\||%7C){U}{{27,40}}"),
    ("-", rf"{EDGE}[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}\b"),
    (".", rf"{EDGE}[MNO]{U}{{23,27}}\.{U}{{6}}\.{U}{{27,}}"),
    ("Q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("ASt ACDb AIoT AEh ARm AzFu",
     r"[A-Za-z0-9+/_-]{40,}(?:\+ASt|ACDb|AIoT|\+AEh|\+ARm|AzFu)[A-Za-z0-9+/_-]{6,10}={0,2}"),
    ("JQQJ9", rf"{N}{{52}}JQQJ9{N}{{24,30}}(?:==)?"), ("!", rf"{EDGE}00{N}{{13}}![A-Za-z0-9._]{{80,}}"),
    ("==", rf"{EDGE}0\.{UUID}\.{N}{{30}}:{B64}{{22}}=="),
)  # fmt: skip
