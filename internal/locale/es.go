package locale

func spanish() map[string]string {
	return map[string]string{
		AIError:      "Lo siento, algo falló de mi lado. Inténtalo de nuevo en un momento.",
		AIErrorAfter: "Hecho: {actions}. No pude escribir el resto.",

		Confirm:              "Voy a: {tool}{args}\n¿Confirmas? (sí/no)",
		ConfirmButtons:       "Voy a: {tool}{args}\n¿Confirmas?",
		ConfirmRepeat:        "Ojo: ya hice «{tool}» hace un momento (resultado: {result}). Si confirmas, se hará otra vez.",
		ConfirmRepeatUnknown: "Ojo: puede que ya haya hecho «{tool}» hace un momento, pero no pude ver si funcionó. Si confirmas, podría hacerse dos veces.",
		ConfirmExpired:       "Esa confirmación ya no está activa.",
		ConfirmAnswered:      "Respuesta recibida: {choice}.",
		ConfirmNote: "El propio sistema le pide al usuario que confirme estas herramientas antes de ejecutarlas: {tools}. " +
			"Llama a la herramienta en cuanto el usuario exprese la intención; no preguntes antes «¿lo hago?» ni menciones el proceso de confirmación. " +
			"Nunca digas que hiciste, cambiaste o cancelaste algo que ningún resultado de herramienta haya confirmado. " +
			"Si no hay una herramienta para lo que pide el usuario, dilo con claridad.",
		DoneNote: "Ya hecho en esta conversación, lo más reciente primero:\n{actions}\n" +
			"No repitas nada de esto salvo que el usuario lo pida expresamente.",
		DoneUnknown: "resultado incierto: puede que se haya hecho o que no",
		DoneMore:    "y {n} anteriores",
		MaxSteps:    "No pude completar la solicitud. Intenta de nuevo con más detalle.",
		ButtonYes:   "Sí",
		ButtonNo:    "No",
		NotYours:    "Solo puede responder la persona a quien se le preguntó.",

		ValueYes: "sí",
		ValueNo:  "no",

		LimitQueue:    "Escribes más rápido de lo que puedo responder. Espera mis respuestas y envíalo otra vez.",
		LimitRate:     "Son muchos mensajes de una vez. Espera un momento e inténtalo de nuevo.",
		LimitTooLarge: "Ese mensaje es demasiado largo para mí. Envía uno más corto, por favor.",

		SenderCode: "Todavía no te conozco. Da este código a quien administra este bot y escríbeme de nuevo cuando te haya dado acceso: {code}",

		MediaUnsupported:      "Solo puedo leer texto, así que no puedo abrir esto: {type}. Escríbemelo, por favor.",
		"media.type.image":    "imagen",
		"media.type.audio":    "audio",
		"media.type.video":    "video",
		"media.type.document": "documento",
		"media.type.sticker":  "sticker",
		"media.type.location": "ubicación",
		"media.type.contact":  "contacto",
		"media.type.other":    "archivo",

		CommandHelp: "Escríbeme con tus propias palabras. También puedes usar:\n" +
			"/reset – empezar de nuevo y olvidar esta conversación\n" +
			"/cancel – detener lo que está en curso\n" +
			"/lang – ver o cambiar el idioma\n" +
			"/help – mostrar esto",
		CommandStart:         "¡Hola! ¿En qué puedo ayudarte?",
		CommandReset:         "Listo. Olvidé esta conversación; podemos empezar de nuevo.",
		CommandCancelDone:    "Cancelado.",
		CommandCancelNothing: "No hay nada que cancelar.",
		CommandUnderWay:      "«{tool}» ya estaba en marcha y es posible que se haya hecho.",
		CommandLangSet:       "De ahora en adelante escribiré en {language}.",
		CommandLangCurrent:   "Estoy escribiendo en {language}. Disponibles: {languages}. Para cambiarlo, envía /lang y el código.",
		CommandLangUnknown:   "No tengo ese idioma. Disponibles: {languages}.",

		AlertDown: "El canal {channel} no funciona. {reason}",
		AlertUp:   "El canal {channel} vuelve a funcionar.",

		SystemLanguage: "Escríbele al usuario en {language}, salvo que escriba en otro idioma.",
		LanguageName:   "español",

		AgeNow:     "ahora mismo",
		AgeMinute:  "hace 1 minuto",
		AgeMinutes: "hace {n} minutos",
		AgeHour:    "hace 1 hora",
		AgeHours:   "hace {n} horas",
		AgeDay:     "hace 1 día",
		AgeDays:    "hace {n} días",
	}
}
